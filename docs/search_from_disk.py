"""Search that works when the site is opened from disk, without the network: a hook of the site's builder.

Browsers refuse workers to pages from disk. The theme would load a script from elsewhere that replaces them;
here a few lines of our own do, which run the worker in a hidden frame of the same page.
"""

from __future__ import annotations

ELSEWHERE = '<script src="https://unpkg.com/iframe-worker/shim"></script>'
FRAME = """\
<script>
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      const answer = data => this.dispatchEvent(new MessageEvent("message", { data }));
      this.addEventListener("message", event => this.onmessage && this.onmessage(event));
      this.inside.postMessage = data => answer(data);
      this.inside.importScripts = (...urls) => urls.reduce((before, each) => before.then(() => new Promise(
        (done, failed) => this.load(each, done, failed))), Promise.resolve());
      this.ready = new Promise((done, failed) => this.load(url, done, failed));
    }
    load(url, done, failed) {
      const script = this.inside.document.createElement("script");
      Object.assign(script, { src: url, onload: done, onerror: failed });
      this.inside.document.head.append(script);
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() { this.inside.frameElement.remove(); }
  };
}
</script>"""


def on_post_page(output: str, **_: object) -> str:
    """The page with the replacement in place of the script from elsewhere."""
    return output.replace(ELSEWHERE, FRAME)
