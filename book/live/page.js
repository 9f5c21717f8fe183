// What a chapter gets when `make serve` shows it: its cells can be changed and run. Nothing starts before a cell is run or changed.

const html = (name, attributes = {}, parent, text) => {
  const node = document.createElement(name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
};
const button = (parent, words, title, press) => {
  const node = html("button", { type: "button", title }, parent, words);
  node.addEventListener("click", press);
  return node;
};

const ENDED = {
  restarted: "Restarted: nothing is defined any more.",
  idle: "Nothing has run for a while, so Python was ended. The next cell that you run starts it again.",
  interrupted: "Interrupted before it began.",
};
const STOPPED = {
  interrupted: () => "was interrupted",
  died: () => "ended Python itself; nothing is defined any more, and the next cell that you run starts it again",
  restarted: () => "ended with the restart",
  full: () => "has not run: as many pages run as may at once. Close one of them",
  gone: () => "has not run: the server has ended. `make serve` starts it again",
  error: ({ name, value }) => `stopped: ${name}: ${value.split("\n")[0]}`,
};

const cells = [];
let current = 0; // so many cells, from the top, have run as they now stand
let running = null; // the cell that runs, and what is called when it has
let answered = null;
let queue = Promise.resolve();
let round = 0; // what waits in the queue is given up when this changes
const painting = []; // what the server has been asked to colour

// --- the line to the server ---

let line = null;
const connect = () => line ??= new Promise((opened, failed) => {
  const socket = new WebSocket(`ws://${location.host}/_live/kernel`);
  socket.onopen = () => opened(socket);
  socket.onmessage = (event) => hear(JSON.parse(event.data));
  socket.onclose = () => {
    line = null;
    current = painting.length = 0;
    failed(new Error("no server"));
    if (answered) answered({ status: "gone" });
  };
});
const send = async (order) => (await connect()).send(JSON.stringify(order));

function hear({ coloured, output, done, forgotten }) {
  if (coloured !== undefined) painting.shift()?.(coloured);
  if (output) running?.show(output);
  if (done && answered) answered(done);
  if (forgotten) {
    current = 0;
    if (ENDED[forgotten]) tell(ENDED[forgotten]);
  }
}

// --- the page ---

// Runs a cell, and before it those above that have not run as they stand; one after another, and none after one that failed.
function request(last, first = () => Math.min(current, last.index)) {
  const mine = round;
  last.say("waiting");
  queue = queue.then(async () => {
    for (let at = first(); mine === round && at <= last.index; at++) {
      const cell = cells[at], code = cell.code, outcome = await cell.run(code);
      if (outcome.status !== "ok") round++;
      else if (cell.code === code) current = Math.max(current, at + 1);
    }
    if (last.state.textContent === "waiting") last.say("");
  });
}

function interrupt() {
  round++;
  if (running) send({ do: "interrupt" });
  else tell("Nothing is running.");
}

function restart() {
  round++;
  if (line) send({ do: "restart" });
  else tell("Nothing has run yet.");
}

let status;
const tell = (words) => { status.textContent = words; };

function toolbar(place) {
  const bar = html("div", { class: "run-bar run-page-bar", role: "group", "aria-label": "Run this page" });
  button(bar, "Run all", "Run every cell, from the top", () => { request(cells.at(-1), () => 0); });
  button(bar, "Interrupt", "Stop the cell that runs; what is defined stays", interrupt);
  button(bar, "Restart", "End Python and forget all names", restart);
  button(bar, "Reset all", "Bring back the page's own code and output", () => {
    cells.forEach((cell) => cell.reset());
    tell("The page's own code and output are back.");
  });
  status = html("p", { role: "status" }, bar, "You can change the code below. Run, or Ctrl+Enter, runs a cell after those above it that have not run yet.");
  place.replaceWith(bar);
}

// --- a cell ---

class Cell {
  constructor(node, index) {
    this.node = node;
    this.index = index;
    this.name = `Cell ${index + 1}`;
    this.pre = node.querySelector(".cell_input pre");
    this.original = this.pre.textContent.replace(/\n$/, "");
    this.printed = this.pre.innerHTML;
    this.output = node.querySelector(":scope > .cell_output") ?? html("div", { class: "cell_output docutils container" }, node);
    this.pictures = [...this.output.querySelectorAll("img")].map((picture) => picture.alt);
    // A figure that can be moved stays: it is not what the cell draws.
    this.own = [...this.output.children].filter((each) => !each.matches(".explorable"));
    this.live = html("div", { class: "run-output" });
    this.output.prepend(this.live);
    node.classList.add("run-cell");
    this.makeEditable();
    const bar = html("div", { class: "run-bar" });
    this.button = button(bar, "Run", `Run cell ${index + 1}`, () => (running === this ? interrupt() : request(this)));
    this.back = button(bar, "Reset", "Bring back the page's own code and output of this cell", () => {
      this.reset();
      this.button.focus(); // this button is gone now
      tell(`${this.name}: the page's own code and output are back.`);
    });
    this.state = html("span", {}, bar);
    for (const each of [this.button, this.back]) each.setAttribute("aria-label", `${each.textContent} cell ${index + 1}`);
    this.back.hidden = true;
    this.output.before(bar);
  }

  // A field lies over the coloured text, letter upon letter; its own letters can't be seen.
  makeEditable() {
    const frame = html("div", { class: "run-code" });
    this.field = html("textarea", { "aria-label": `Code of cell ${this.index + 1}`, spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", rows: 1 });
    this.field.value = this.shown = this.original;
    this.pre.replaceWith(frame);
    this.pre.setAttribute("aria-hidden", "true");
    frame.append(this.pre, this.field);
    this.field.addEventListener("input", () => this.changed());
    this.field.addEventListener("keydown", (event) => this.pressed(event));
  }

  get code() { return this.field.value; }

  pressed(event) {
    if (event.key !== "Enter" || event.isComposing || event.altKey) return;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) request(this);
    else if (event.shiftKey) {
      request(this);
      cells.slice(this.index + 1).find((cell) => cell.field.checkVisibility())?.field.focus();
    } else {
      const before = this.code.slice(this.code.lastIndexOf("\n", this.field.selectionStart - 1) + 1, this.field.selectionStart);
      const deeper = /:\s*$/.test(before) ? "    " : "";
      document.execCommand("insertText", false, `\n${before.match(/^ */)[0]}${deeper}`); // the one way that can be undone
    }
  }

  changed() {
    this.patch(this.code);
    current = Math.min(current, this.index);
    this.back.hidden = false;
    this.say(this.code === this.original ? "" : "changed");
    const code = this.code;
    painting.push((colours) => { if (this.code === code) this.pre.innerHTML = colours; });
    send({ colour: code }).catch(() => {});
  }

  // Puts what was typed into the coloured text at once; its colours are on their way.
  patch(text) {
    const old = this.shown;
    let start = 0, end = 0;
    while (start < Math.min(old.length, text.length) && old[start] === text[start]) start++;
    while (end < Math.min(old.length, text.length) - start && old.at(-1 - end) === text.at(-1 - end)) end++;
    const range = document.createRange();
    range.setStart(...this.at(start));
    range.setEnd(...this.at(old.length - end));
    range.deleteContents();
    range.insertNode(document.createTextNode(text.slice(start, text.length - end)));
    this.shown = text;
  }

  at(offset) {
    const walk = document.createTreeWalker(this.pre, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      if (offset <= walk.currentNode.length) return [walk.currentNode, offset];
      offset -= walk.currentNode.length;
    }
    return [this.pre, this.pre.childNodes.length];
  }

  say(words) { this.state.textContent = words; }

  async run(code) {
    running = this;
    this.ran = code;
    this.button.textContent = "Interrupt";
    this.button.setAttribute("aria-label", `Interrupt cell ${this.index + 1}`);
    this.say("running");
    tell(`${this.name} of ${cells.length} is running.`);
    this.stale = true; // what stands below the cell goes when the first thing comes
    const outcome = await new Promise((done) => {
      answered = done;
      send({ run: code }).catch(() => done({ status: "gone" }));
    });
    running = answered = null;
    this.button.textContent = "Run";
    this.button.setAttribute("aria-label", `Run cell ${this.index + 1}`);
    if (outcome.status !== "full" && outcome.status !== "gone") this.clear();
    const words = STOPPED[outcome.status]?.(outcome);
    this.say(words ? (outcome.status === "error" ? outcome.name : outcome.status) : `done in ${outcome.seconds.toFixed(outcome.seconds < 1 ? 2 : 1)} s`);
    tell(words ? `${this.name} ${words}.` : `${this.name} is done.`);
    for (const pre of this.live.querySelectorAll("pre")) if (pre.scrollWidth > pre.clientWidth) pre.tabIndex = 0;
    return outcome;
  }

  // Takes away what the page printed, or what the last run did.
  clear() {
    if (!this.stale) return;
    this.restore();
    this.stale = false;
    for (const each of this.own) each.hidden = true;
    this.back.hidden = false;
  }

  restore() {
    this.live.replaceChildren();
    this.output.querySelectorAll(".run-picture").forEach((each) => each.remove());
    this.output.querySelectorAll("[hidden]").forEach((each) => { if (this.own.includes(each) || each.matches("img")) each.hidden = false; });
    this.drawn = 0;
  }

  reset() {
    if (this.code !== this.original) current = Math.min(current, this.index);
    this.field.value = this.shown = this.original;
    this.pre.innerHTML = this.printed;
    this.stale = running === this;
    this.restore();
    this.back.hidden = true;
    if (running !== this) this.say("");
  }

  show(output) {
    this.clear();
    if (output.kind === "clear") this.live.replaceChildren();
    else if (output.kind === "picture") this.draw(output.source);
    else if (output.kind === "html") html("div", { class: "output text_html" }, this.live).innerHTML = output.html;
    else this.write(output);
  }

  write({ kind, html: text }) {
    let last = this.live.lastElementChild;
    if (!last?.matches(`.run-${kind}`) || kind === "result" || kind === "error") {
      last = html("div", { class: `output stream notranslate run-${kind}` }, this.live);
      html("pre", {}, html("div", { class: "highlight" }, last));
    }
    const pre = last.querySelector("pre");
    // A line that returns to its beginning writes over itself: so bars of progress are drawn.
    if (text.includes("\r")) pre.innerHTML = (pre.innerHTML + text).replace(/\r\n/g, "\n").replace(/[^\n]*\r/g, "");
    else pre.insertAdjacentHTML("beforeend", text);
  }

  // A picture takes its predecessor's place in a figure with a caption, and its words while the code is the page's.
  draw(source) {
    const figure = this.own.filter((each) => each.matches("figure"))[this.drawn];
    const alt = (this.ran === this.original && this.pictures[this.drawn]) || "What the code above has drawn";
    this.drawn++;
    const picture = html("img", { class: "run-picture", src: source, alt });
    if (!figure) return html("div", { class: "output image" }, this.live).append(picture);
    figure.querySelector("img").hidden = true;
    figure.prepend(picture);
    figure.hidden = false;
  }
}

document.querySelectorAll(".bd-article .cell").forEach((node) => {
  if (node.querySelector(".cell_input pre")) cells.push(new Cell(node, cells.length));
});
toolbar(document.querySelector(".run-page"));
