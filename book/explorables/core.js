// What all explorables share. The bundle is one classic script (a page from file:// may load neither modules nor data), and each figure
// is a custom element around the picture of the chapter, which stays where no script runs, and on paper.

const WIDTH = 360; // of every drawing, in its own units: a phone shows about that many pixels, so that 13 units of type stay 11 pixels
const TYPE = 13;
const WORDS = LABELS.words, SIX = LABELS.six;

function put(node, attributes, parent, text) {
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}
const html = (name, attributes, parent, text) => put(document.createElement(name), attributes, parent, text);
const svg = (name, attributes, parent, text) => put(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, parent, text);

// The words of labels.*.json: {name} in one is a place for a value.
const say = (words, values) => words.replace(/\{(\w+)\}/g, (_, name) => values[name]);
// A number as the chapters print it, with a minus that is read aloud as one; what rounds to zero has no sign.
const shown = (number, digits) =>
  Number.isFinite(number) ? number.toFixed(digits).replace(/^-(?=.*[1-9])/, "\u2212").replace(/^-/, "") : number < 0 ? "\u2212∞" : LABELS.none;
const listed = (words) => words.length < 2 ? words.join("") : words.slice(0, -1).join(", ") + LABELS.and + words[words.length - 1];
const clamp = (value, [low, high]) => Math.min(high, Math.max(low, value));
const pair = (point, digits) => `(${point.map((value) => shown(value, digits)).join(", ")})`;
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const range = (length) => [...Array(length).keys()];

// What moves a node of a drawing to a place.
const move = (node, x, y) => node.setAttribute("transform", `translate(${x},${y})`);

class Explorable extends HTMLElement {
  connectedCallback() {
    if (this.stage) return;
    const figure = this.querySelector("figure"), words = this.querySelector(".explorable-words");
    this.stage = html("div", { class: "explorable-stage", role: "group", "aria-label": this.words.title });
    this.build(this.stage);
    this.said = html("p", { class: "explorable-said", role: "status" }, this.stage);
    this.update();
    // Only now, when all of that has worked, does it take the picture's place.
    figure.prepend(this.stage);
    figure.querySelector("figcaption").append(words);
    words.hidden = false;
    this.classList.add("live");
  }

  canvas(parent, height) {
    this.drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, "font-size": TYPE }, parent);
    return this.drawing;
  }

  // A thing in the drawing that is moved: by pointer to a place, by arrow keys in steps. `name` is what it is, `at` says where it is.
  handle(node, name, { at, to, step, limits }) {
    put(node, { role: "slider", tabindex: 0, "aria-label": name, class: `${node.getAttribute("class") || ""} explorable-handle` });
    const tell = () => {
      const { now, text } = at();
      put(node, { "aria-valuenow": now, "aria-valuetext": text, "aria-valuemin": limits[0], "aria-valuemax": limits[1] });
    };
    const place = (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.drawing.getScreenCTM().inverse());
      to(point.x, point.y);
      this.update();
    };
    node.addEventListener("pointerdown", (event) => {
      node.setPointerCapture(event.pointerId);
      node.focus();
      event.preventDefault();
    });
    node.addEventListener("pointermove", (event) => node.hasPointerCapture(event.pointerId) && place(event));
    node.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      step(...way);
      this.update();
    });
    (this.tellers ||= []).push(tell);
    return node;
  }

  // Controls of the browser's own, which keyboards and screen readers know.
  choose(parent, name, options, key) {
    const label = html("label", {}, parent, name + " ");
    const select = html("select", {}, label);
    options.forEach((option, place) => html("option", { value: place }, select, option));
    select.value = this[key];
    select.addEventListener("change", () => { this[key] = +select.value; this.update(); });
  }

  slide(parent, name, [min, max], key, text) {
    const label = html("label", { class: "explorable-slider" }, parent);
    html("span", {}, label, name);
    const input = html("input", { type: "range", min, max, step: 1 }, label), output = html("output", {}, label);
    input.value = this[key];
    input.addEventListener("input", () => { this[key] = +input.value; this.update(); });
    (this.tellers ||= []).push(() => {
      output.textContent = text(this[key]);
      input.setAttribute("aria-valuetext", output.textContent);
    });
    return input;
  }

  tick(parent, name, isOn, change) {
    const label = html("label", { class: "explorable-tick" }, parent), box = html("input", { type: "checkbox" }, label);
    label.append(" " + name);
    box.checked = isOn;
    box.addEventListener("change", () => { change(box.checked); this.update(); });
    return label;
  }

  // A table of numbers with a name on each row and column; returns its cells.
  table(parent, columns, rows) {
    const table = html("table", { class: "explorable-table" }, parent), head = html("tr", {}, html("thead", {}, table));
    html("td", {}, head);
    columns.forEach((name) => html("th", { scope: "col" }, head, name));
    const body = html("tbody", {}, table);
    return rows.map((name) => {
      const row = html("tr", {}, body);
      html("th", { scope: "row" }, row, name);
      return columns.map(() => html("td", {}, row));
    });
  }

  update() {
    this.show();
    (this.tellers || []).forEach((tell) => tell());
  }
}

const define = (name, element) => {
  element.prototype.words = LABELS[name];
  customElements.define(`explore-${name}`, element);
};
