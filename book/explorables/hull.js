// One query over four words, each of which is key and value: the output stays in the hull of the values that may be looked at.
const PLANE = [-1, 3]; // of both axes
const UNIT = 82, LEFT = 16, TOP = 10;
const TEMPERATURES = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 5, 7, 10];

class Hull extends Explorable {
  query = [1, 1];
  points = [[0, 2], [0, 1], [2, 1], [1, 0]];
  seen = [true, true, true, true];
  temperature = TEMPERATURES.indexOf(1);

  build(stage) {
    const drawing = this.canvas(stage, 4 * UNIT + 2 * TOP);
    for (const at of [-1, 0, 1, 2, 3]) {
      const d = this.path([[at, -1], [at, 3]]) + this.path([[-1, at], [3, at]]);
      svg("path", { class: at ? "explorable-faint" : "explorable-axis", d }, drawing);
    }
    svg("text", { x: WIDTH - LEFT - 4, y: TOP + 3 * UNIT + 16, "text-anchor": "end", class: "explorable-quiet" }, drawing, this.words.event);
    svg("text", { x: LEFT + UNIT + 6, y: TOP + 14, class: "explorable-quiet" }, drawing, this.words.someone);
    this.hull = svg("path", { class: "explorable-area" }, drawing);
    this.beams = this.points.map(() => svg("path", { class: "explorable-beam" }, drawing));
    this.curve = svg("path", { class: "explorable-line warm" }, drawing);
    this.arrow = svg("path", { class: "explorable-line" }, drawing);
    this.output = svg("g", {}, drawing);
    svg("circle", { r: 7, class: "explorable-output" }, this.output);
    svg("text", { x: 6, y: -11 }, this.output, this.words.output);
    this.marks = WORDS.map((word, place) => this.point(drawing, word, this.points[place], "M-6-6h12v12h-12z", "explorable-key"));
    this.asks = this.point(drawing, this.words.query, this.query, "M0-9 9 0 0 9-9 0z", "explorable-query");
    const controls = html("div", { class: "explorable-controls" }, stage);
    this.slide(controls, this.words.temperature, [0, TEMPERATURES.length - 1], "temperature", (place) => `${TEMPERATURES[place]}`);
    const rows = this.table(stage, WORDS, [this.words.look, this.words.score, this.words.weight]);
    rows[0].forEach((cell, word) => {
      const tick = this.tick(cell, "", true, (isOn) => { this.seen[word] = isOn; });
      tick.firstChild.setAttribute("aria-label", say(this.words.mayLook, { word: WORDS[word] }));
    });
    this.numbers = rows.slice(1);
  }

  point(drawing, name, point, shape, look) {
    const group = svg("g", { class: look }, drawing);
    svg("circle", { r: 16, class: "explorable-grip" }, group);
    svg("path", { d: shape, class: "explorable-shape" }, group);
    svg("text", { x: 8, y: point === this.query ? 22 : -9 }, group, name);
    const set = (x, y) => [x, y].forEach((value, axis) => { point[axis] = Math.round(clamp(value, PLANE) * 10) / 10; });
    return this.handle(group, name, {
      at: () => ({ now: point[0], text: pair(point, 1) }),
      to: (x, y) => set((x - LEFT) / UNIT + PLANE[0], PLANE[1] - (y - TOP) / UNIT),
      step: (right, up) => set(point[0] + right / 10, point[1] + up / 10),
      limits: PLANE,
    });
  }

  place([x, y]) { return [LEFT + (x - PLANE[0]) * UNIT, TOP + (PLANE[1] - y) * UNIT]; }
  path(points, end = "") { return points.length ? "M" + points.map((point) => this.place(point).map((each) => each.toFixed(1)).join()).join("L") + end : ""; }

  weigh(temperature) {
    const scores = this.points.map(([x, y], word) => (this.seen[word] ? x * this.query[0] + y * this.query[1] : -Infinity));
    const top = Math.max(...scores), powers = scores.map((score) => Math.exp((score - top) / temperature)), total = sum(powers);
    const weights = powers.map((power) => power / total || 0); // a query that may look at nothing gets zeros, and not NaN
    return { scores, weights, output: [0, 1].map((axis) => sum(weights.map((weight, word) => weight * this.points[word][axis]))) };
  }

  show() {
    const { scores, weights, output } = this.weigh(TEMPERATURES[this.temperature]), seen = this.points.filter((_, word) => this.seen[word]);
    this.marks.forEach((mark, word) => { move(mark, ...this.place(this.points[word])); mark.classList.toggle("hidden", !this.seen[word]); });
    move(this.asks, ...this.place(this.query));
    move(this.output, ...this.place(output));
    this.arrow.setAttribute("d", this.path([[0, 0], this.query]));
    this.hull.setAttribute("d", this.path(around(seen), "Z"));
    this.curve.setAttribute("d", this.path(range(61).map((step) => this.weigh(0.05 * 2000 ** (step / 60)).output)));
    this.beams.forEach((beam, word) => put(beam, { d: this.path([this.points[word], output]), "stroke-width": 14 * weights[word] }));
    [scores, weights].forEach((row, digits) => row.forEach((number, word) => {
      this.numbers[digits][word].textContent = shown(number, digits + 2);
    }));
    const names = listed(WORDS.filter((_, word) => this.seen[word]));
    this.said.textContent = say(seen.length ? this.words.within : this.words.blind, { output: pair(output, 2), names });
  }
}

// The corners of the smallest convex area with all the points in it (Andrew's monotone chain).
function around(points) {
  const sorted = [...points].sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  const side = (chain, point) => {
    while (chain.length > 1) {
      const [[ax, ay], [bx, by]] = chain.slice(-2);
      if ((bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax) > 0) break;
      chain.pop();
    }
    return [...chain, point];
  };
  return [...sorted.reduce(side, []), ...sorted.reverse().reduce(side, []).slice(1, -1)];
}

define("hull", Hull);
