// Browsers start no worker from a page that is opened as a file, so the site's search runs in a hidden frame there.
// It offers what search uses of a worker: messages in both directions.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      this.inside = new Promise(resolve => {
        frame.addEventListener("load", () => {
          const inside = frame.contentWindow
          inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
          const script = inside.document.createElement("script")
          script.src = address
          script.addEventListener("load", () => resolve(inside))
          inside.document.body.append(script)
        }, { once: true })
      })
      document.body.append(frame)
    }

    postMessage(data) {
      this.inside.then(inside => inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
