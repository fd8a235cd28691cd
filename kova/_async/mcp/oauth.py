"""OAuth for MCP servers over HTTP, as a `TokenProvider` whose tokens a user grants in the browser."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from attrs import evolve

from ..._mcp import oauth_requests as requests
from ..._mcp.oauth_challenges import Challenge
from ..._mcp.oauth_discovery import AuthorizationServer, failure
from ..._mcp.oauth_grant import Grant
from ..._mcp.oauth_requests import Authorization, OAuthClient
from ..._runtime import aio as rt
from ..._runtime.loopback import LoopbackListener
from ..._runtime.scope import Deadline
from ...cancellation import CancellationToken
from ...errors import BuildError, KovaOSError
from .oauth_base import AsyncOAuthBase
from .oauth_server import check_setting

__all__ = ["AsyncOAuth"]

CALLBACK = "/callback"
FAREWELL = "Done. You can close this window and go back to the application."
OFFLINE = "offline_access"  # the scope for a refresh token, where a server has one


class AsyncOAuth(AsyncOAuthBase):
    """Tokens that a user grants in the browser.

        StreamableHTTPTransport(url, auth=AsyncOAuth(url, token_file="~/.config/my-agent/server.json"))

    The first refusal of the server opens the browser, and the user has as long as the call may take; `authorize` asks
    beforehand. From then on tokens are renewed without the user. All that is sent goes to the server itself, to the
    authorization server that it names, and to `trusted_origins`.

    Args:
        url: The MCP server's URL, as the transport has it.
        client_id: Who asks, where this application is registered there; else it registers itself.
        client_secret: Its secret, where it has one; needs `issuer`.
        client_metadata_url: URL of a document about this application, used as its id where the authorization server
            takes such ones.
        client_name: What users read where they are asked.
        scopes: The scopes to ask for, in place of those that the server names.
        issuer: The authorization server, if no other may be used.
        trusted_origins: Further origins that the authorization server's endpoints may have.
        redirect_port: Port of this machine that the browser comes back to; 0 for any.
        token_file: Where the tokens are kept, readable by this user alone; None keeps them in memory.
        open_browser: Is given the URL that the user must open; in place of the standard library's `webbrowser`.
        authorization_timeout: Seconds that the user has.

    Raises:
        BuildError: An argument is wrong.
    """

    def __init__(
        self,
        url: str,
        *,
        client_id: str | None = None,
        client_secret: str | None = None,
        client_metadata_url: str | None = None,
        client_name: str = "kova",
        scopes: Sequence[str] = (),
        issuer: str | None = None,
        trusted_origins: Sequence[str] = (),
        redirect_port: int = 0,
        token_file: str | os.PathLike[str] | None = None,
        open_browser: Callable[[str], object] | None = None,
        authorization_timeout: float = 300.0,
    ) -> None:
        super().__init__(url, issuer=issuer, scopes=scopes, trusted_origins=trusted_origins, token_file=token_file)
        if client_secret is not None and (client_id is None or issuer is None):
            raise BuildError("client_secret needs client_id, and issuer: it is shown to no other authorization server")
        if client_metadata_url is not None:
            check_setting(client_metadata_url, "client_metadata_url")
        if open_browser is not None:
            rt.check_callable(open_browser, "open_browser")
        self._client_id = client_id
        self._client_secret = client_secret
        self._client_metadata_url = client_metadata_url
        self._client_name = client_name
        self._redirect_port = redirect_port
        self._open_browser = open_browser or _open_browser
        self._authorization_timeout = authorization_timeout

    async def authorize(self) -> None:
        """Ask the user now, in place of at the first call. Nothing happens where there are tokens already.

        Raises:
            ConnectionError: Access was not granted.
            TimeoutError: The user did not answer in time.
        """
        async with self._turn:
            if await self.token() is None:
                await self._get_tokens(401, Challenge())

    async def _renew(self, status: int, challenge: Challenge) -> None:
        grant = self._grant
        if status != 401 and grant is not None and set(challenge.scopes) <= set(grant.scopes):
            return  # that much was asked for already, and more is not known to be wanted
        resource, server = await self._oauth.find(challenge.resource_metadata)
        if (
            status == 401
            and grant is not None
            and grant.issuer == server.issuer
            and await self._refreshed(grant, server)
        ):
            return
        scopes = self._wanted_scopes(challenge, resource, server)
        if server.scopes is not None and OFFLINE in server.scopes:
            scopes = tuple(dict.fromkeys((*scopes, OFFLINE)))
        await self._ask_user(resource.resource, server, scopes)

    async def _refreshed(self, grant: Grant, server: AuthorizationServer) -> bool:
        """Get a new token without the user; False where there is no refresh token, or it is good no longer."""
        if grant.tokens is None or grant.tokens.refresh is None:
            return False
        form = {"grant_type": "refresh_token", "refresh_token": grant.tokens.refresh}
        status, answer, sent = await self._ask_for_tokens(server, grant.client, grant.resource, form)
        if status in (400, 401, 403):
            if answer.get("error") == "invalid_client":
                self._grant = None  # it has forgotten the client, too
            return False
        await self._keep(evolve(grant, tokens=requests.parse_tokens(server, status, answer, sent)))
        return True

    async def _ask_user(self, resource: str, server: AuthorizationServer, scopes: tuple[str, ...]) -> None:
        listener = await rt.run_blocking(self._listen, server)
        try:
            client = await self._client(server, listener.url, scopes)
            asked = Authorization(listener.url)
            url = requests.authorization_url(server, client, asked, scopes, resource)
            answer = await self._answer(listener, url, asked.state)
        finally:
            listener.close()
        form = {
            "grant_type": "authorization_code",
            "code": requests.code_in(server, answer),
            "redirect_uri": asked.redirect_uri,
            "code_verifier": asked.verifier,
        }
        tokens = requests.parse_tokens(server, *await self._ask_for_tokens(server, client, resource, form))
        await self._keep(Grant(self.url, server.issuer, resource, client, tokens, scopes))

    def _listen(self, server: AuthorizationServer) -> LoopbackListener:
        """Listen where the client has said that it would, if it can be."""
        known = self._registered(server)
        port = self._redirect_port
        if known is not None and known.redirect_uri is not None and not port:
            try:
                return LoopbackListener(CALLBACK, int(known.redirect_uri.split(":")[2].partition("/")[0]))
            except OSError:
                pass  # it is taken by now: the client registers anew
        try:
            return LoopbackListener(CALLBACK, port)
        except OSError as error:
            raise KovaOSError(f"cannot listen for the browser at redirect_port {port}: {error.strerror}") from error

    def _registered(self, server: AuthorizationServer) -> OAuthClient | None:
        """The client that has registered itself there before."""
        grant = self._grant
        return grant.client if grant is not None and grant.issuer == server.issuer else None

    async def _client(self, server: AuthorizationServer, redirect_uri: str, scopes: Sequence[str]) -> OAuthClient:
        if self._client_id is not None:
            method = requests.auth_method(server, self._client_secret)
            return OAuthClient(self._client_id, self._client_secret, method)
        if self._client_metadata_url is not None and server.takes_metadata_urls:
            return OAuthClient(self._client_metadata_url)
        known = self._registered(server)
        if known is not None and known.redirect_uri == redirect_uri:
            return known
        if server.registration_endpoint is None:
            raise failure(f"{server.issuer} registers no clients: get a client_id there and give it to OAuth")
        wanted = requests.registration(server, self._client_name, redirect_uri, scopes)
        status, answer = await self._oauth.post_json(server.registration_endpoint, wanted)
        return requests.parse_registration(server, status, answer, wanted)

    async def _answer(self, listener: LoopbackListener, url: str, state: str) -> dict[str, str]:
        """What the browser brings when it comes back."""
        answers: rt.Channel[dict[str, str]] = rt.Channel()
        stop = CancellationToken()

        def accept(query: dict[str, str]) -> str | None:
            return FAREWELL if query.get("state") == state else None

        async def listen() -> None:
            answers.put(await rt.call(listener.wait, accept, stop, stop=stop))

        background = rt.Background()
        background.start_soon(listen)  # before the browser is told, which may come before the call has returned
        try:
            with rt.fail_at(Deadline(self._authorization_timeout, "waiting for the user's consent")):
                if await rt.call(self._open_browser, url) is False:
                    raise failure("no browser could be opened: give open_browser a function that shows users the URL")
                return await answers.get()
        finally:
            stop.cancel()
            background.cancel()


def _open_browser(url: str) -> bool:
    import webbrowser

    return webbrowser.open(url)
