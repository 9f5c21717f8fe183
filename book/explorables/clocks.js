// Position vectors of width 64 as clocks: the hands of query and key turn together, and what they give depends on their distance alone.
const PAIRS = 32, EVERY = 4, FAR = 24, DIAL = 34;
const FREQUENCIES = range(PAIRS).map((pair) => 10000 ** (-pair / PAIRS));
const CHART = { left: 34, right: 352, top: 226, bottom: 400, low: -8, high: 32 };

class Clocks extends Explorable {
  position = 50;
  offset = -3;
  back = 3;

  build(stage) {
    const drawing = this.canvas(stage, 440), { left, right, top, bottom } = CHART;
    this.dials = FREQUENCIES.filter((_, pair) => pair % EVERY === 0).map((frequency, place) => {
      const dial = svg("g", { transform: `translate(${46 + 89 * (place % 4)},${46 + 104 * Math.floor(place / 4)})` }, drawing);
      svg("circle", { r: DIAL, class: "explorable-dial" }, dial);
      const hands = ["query", "key"].map((name) => svg("path", { class: `explorable-hand ${name}` }, dial));
      return { frequency, hands, text: svg("text", { y: DIAL + 17, "text-anchor": "middle" }, dial) };
    });
    for (const [value, text] of [[0, "0"], [PAIRS, `${PAIRS}`]]) {
      svg("path", { class: "explorable-faint", d: `M${left} ${this.y(value)}H${right}` }, drawing);
      svg("text", { x: left - 6, y: this.y(value) + 5, "text-anchor": "end" }, drawing, text);
    }
    for (const offset of [-FAR, -12, 0, 12, FAR]) {
      svg("path", { class: "explorable-faint", d: `M${this.x(offset)} ${top}V${bottom}` }, drawing);
      svg("text", { x: Math.min(this.x(offset), right - 6), y: bottom + 17, "text-anchor": "middle" }, drawing, shown(offset, 0));
    }
    svg("text", { x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle", class: "explorable-quiet" }, drawing, this.words.axis);
    svg("text", { x: left + 6, y: top + 26, class: "explorable-quiet" }, drawing, this.words.likeness);
    this.curves = ["", "warm"].map((look) => svg("path", { class: `explorable-line ${look}` }, drawing));
    this.dot = svg("circle", { r: 6, class: "explorable-output" }, drawing);
    const controls = html("div", { class: "explorable-controls" }, stage);
    this.slide(controls, this.words.position, [FAR, 1000], "position", String);
    this.slide(controls, this.words.offset, [-FAR, FAR], "offset", (offset) => shown(offset, 0));
    this.slide(controls, this.words.back, [0, 8], "back", String);
  }

  x(offset) { return CHART.left + ((offset + FAR) / (2 * FAR)) * (CHART.right - CHART.left); }
  y(value) { return CHART.bottom - ((value - CHART.low) / (CHART.high - CHART.low)) * (CHART.bottom - CHART.top); }

  // The sine and the cosine of one frequency at a position; and the dot product of a turned query with a key, over some frequencies.
  hand(position, frequency) { return [Math.sin(position * frequency), Math.cos(position * frequency)]; }
  likeness(offset, frequencies, back = this.back) {
    return sum(frequencies.map((frequency) => {
      const asks = this.hand(this.position - back, frequency), key = this.hand(this.position + offset, frequency);
      return asks[0] * key[0] + asks[1] * key[1];
    }));
  }

  show() {
    const { position, offset, back } = this, likeness = this.likeness(offset, FREQUENCIES);
    for (const { frequency, hands, text } of this.dials) {
      [position - back, position + offset].forEach((place, which) => {
        const [across, up] = this.hand(place, frequency).map((each) => each * DIAL * (which ? 0.62 : 0.92));
        hands[which].setAttribute("d", `M0 0L${across.toFixed(1)} ${(-up).toFixed(1)}`);
      });
      text.textContent = shown(this.likeness(offset, [frequency]), 2);
    }
    const places = range(4 * FAR + 1).map((step) => step / 2 - FAR);
    const point = (place, turned) => `${this.x(place).toFixed(1)} ${this.y(this.likeness(place, FREQUENCIES, turned)).toFixed(1)}`;
    [0, back].forEach((turned, which) => this.curves[which].setAttribute("d", "M" + places.map((place) => point(place, turned)).join("L")));
    put(this.dot, { cx: this.x(offset), cy: this.y(likeness) });
    const values = { position, key: position + offset, back, likeness: shown(likeness, 2), far: Math.abs(offset) };
    const where = offset ? (offset < 0 ? this.words.before : this.words.after) : this.words.same;
    this.said.textContent = say(this.words.asked, { ...values, where: say(where, values) }) + (back ? " " + say(this.words.turned, values) : "");
  }
}

define("clocks", Clocks);
