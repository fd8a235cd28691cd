"""The tables of the first release."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies: list[tuple[str, str]] = []

    operations = [
        migrations.CreateModel(
            name="Conversation",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("name", models.TextField()),
                ("revision", models.BigIntegerField()),
                ("changed_at", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="ForgottenConversations",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("revision", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("json", models.TextField()),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="messages", to="kova.conversation"
                    ),
                ),
            ],
        ),
    ]
