// The reference shows a class and its async twin in two tabs.

// A link to something in a tab that is not shown shows that tab.
function showTabOfAnchor() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const block = target?.closest(".tabbed-block");
  if (!block) return;
  const set = block.closest(".tabbed-set");
  const place = [...block.parentElement.children].indexOf(block);
  set.querySelectorAll(":scope > input")[place].click();
  target.scrollIntoView();
}

addEventListener("hashchange", showTabOfAnchor);
addEventListener("load", showTabOfAnchor);

// The table of contents has the names of the twin that is shown.
function showTwin() {
  for (const link of document.querySelectorAll('.md-nav--secondary a[href*=".Async"]')) {
    const item = link.closest("li");
    const twin = link.closest(".md-nav--secondary").querySelector(`a[href="${link.getAttribute("href").replace(".Async", ".")}"]`);
    const block = document.getElementById(link.hash.slice(1))?.closest(".tabbed-block");
    if (!twin || !block) continue;
    const isShown = block.offsetParent !== null;
    item.hidden = !isShown;
    twin.closest("li").hidden = isShown;
  }
}

addEventListener("load", showTwin);
addEventListener("change", () => setTimeout(showTwin));
