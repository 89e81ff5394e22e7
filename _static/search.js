// A page from the disk may not fetch others: the search's excerpts come from search_texts.js.
if (location.protocol === "file:" && typeof SEARCH_TEXTS !== "undefined") {
  const fetchFromNetwork = window.fetch;
  window.fetch = (address, ...rest) => {
    const root = new URL(document.documentElement.dataset.content_root, location.href).href;
    const page = new URL(address, location.href).href.replace(root, "").replace(/\.html$/, "");
    if (!(page in SEARCH_TEXTS)) return fetchFromNetwork(address, ...rest);
    const html = `<div role="main">${SEARCH_TEXTS[page]}</div>`;
    return Promise.resolve({ ok: true, text: () => Promise.resolve(html) });
  };
}
