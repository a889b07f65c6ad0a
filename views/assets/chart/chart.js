/**
 * A Plotly figure that is changed where it stands: what the shim in views/chart.py calls.
 *
 * `component` is Streamlit's ({data, parentElement}), with data = {figure, description, library, labels}: the figure as
 * Plotly's JSON, a sentence for whoever cannot see it, the address of Plotly's own code, and our words.
 */

/** @type {Promise<Object>|undefined} Plotly, fetched once for a page */
let library;

/** @type {WeakMap<HTMLElement, Chart>} */
const charts = new WeakMap();

const CONFIG = { displayModeBar: false };

/** @param {{data: Object, parentElement: ParentNode}} component */
export function update({ data, parentElement }) {
  const place = parentElement.querySelector(".chart");
  if (!charts.has(place)) charts.set(place, new Chart(place));
  charts.get(place).show(data);
}

/** Leave no observer behind. @param {ParentNode} parentElement */
export function destroy(parentElement) {
  const place = parentElement.querySelector(".chart");
  charts.get(place)?.destroy();
  charts.delete(place);
}

class Chart {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    this.plotly = null;
    this.source = null;
    this.figure = null;
    this.width = 0;
    // Plotly's own way of following its place waits for the window; this one sees a side bar or a tab open, too.
    this.watch = new ResizeObserver(() => this.fit());
    this.watch.observe(place);
  }

  async show(data) {
    this.place.setAttribute("aria-label", data.description);
    if (data.figure !== this.source) this.take(data.figure);
    try {
      const plotly = await loaded(data.library);
      if (!this.plotly) this.place.replaceChildren(); // what an attempt that failed has said
      this.plotly = plotly;
    } catch {
      this.place.textContent = data.labels.load_failed;
      return;
    }
    this.fit();
  }

  /** Another figure than now; a page that is drawn again brings most as they were. @param {string} source */
  take(source) {
    this.source = source;
    this.figure = JSON.parse(source);
    this.place.style.height = `${this.figure.layout.height}px`; // so that nothing below moves when it is drawn
    this.width = 0;
  }

  /** Draw at the width that there is, once for each width; in a closed tab there is none yet. */
  fit() {
    const width = this.place.clientWidth;
    if (!this.plotly || !width || width === this.width) return;
    this.width = width;
    const { data, layout } = this.figure;
    this.plotly.react(this.place, data, { ...layout, width }, CONFIG);
  }

  destroy() {
    this.watch.disconnect();
    this.plotly?.purge(this.place);
    this.plotly = null;
  }
}

/** @param {string} address */
function loaded(address) {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL(address, location.origin).href;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      library = undefined; // another figure may try again
      reject(new Error(address));
    };
    document.head.append(script);
  });
  return library;
}
