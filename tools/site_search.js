// A page that is opened as a file may start no worker and fetch nothing: there the search runs in the page itself.
if (location.protocol === "file:") {
  window.Worker = function () {
    const pages = new Map();
    let index = null;
    const load = (name, then) => {
      const script = document.createElement("script");
      script.src = base_url + "/search/" + name;
      script.onload = then;
      document.head.appendChild(script);
    };
    const build = () => {
      index = lunr(function () {
        this.ref("location");
        this.field("title", { boost: 10 });
        this.field("text");
        for (const page of window.search_index.docs) {
          this.add(page);
          pages.set(page.location, { ...page, summary: page.text });
        }
      });
      this.onmessage({ data: { config: window.search_index.config } });
      this.onmessage({ data: { allowSearch: true } });
    };
    this.postMessage = (message) => {
      if (message.init) load("lunr.js", () => load("search_index.js", build));
      else if (index) this.onmessage({ data: { results: index.search(message.query).map((r) => pages.get(r.ref)) } });
    };
  };
}
