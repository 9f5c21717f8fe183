// Trained models of one attention, from a measured table: where the division by the square root of d_k decides, and where it does not.
const ARMS = ["undivided", "divided"];
const SHOWN = [["right", 100, 0], ["spread", 1, 2], ["highest", 1, 2], ["bits", 1, 2], ["slope", 1, 5]]; // column, factor, digits
const SQUARE = { width: 38, height: 32, left: [30, 204], top: 44 };

class ScalingMap extends Explorable {
  row = 4;
  column = 2;
  start = 0;
  contest = 0;

  build(stage) {
    const { columns, rows } = JSON.parse(this.querySelector("script").textContent);
    this.measured = rows.map((row) => Object.fromEntries(columns.map((name, place) => [name, row[place]])));
    this.measured.forEach((row) => { row.contest = `${row.task} ${row.optimiser}`; });
    const distinct = (name) => [...new Set(this.measured.map((row) => row[name]))];
    [this.keys, this.widths] = ["keys", "d_k"].map((name) => distinct(name).sort((one, other) => one - other));
    this.choices = { start: distinct("start"), contest: distinct("contest") };
    const controls = html("div", { class: "explorable-controls" }, stage);
    for (const name in this.choices) this.choose(controls, this.words[name], this.choices[name].map((each) => this.words[each]), name);
    const { width, height, left, top } = SQUARE, drawing = this.canvas(stage, top + this.keys.length * height + 40);
    const bottom = top + this.keys.length * height;
    svg("text", { x: 0, y: top - 10, class: "explorable-quiet" }, drawing, this.words.keys);
    this.maps = ARMS.map((arm, side) => {
      svg("text", { x: left[side], y: 14, class: "explorable-title" }, drawing, this.words[arm]);
      this.widths.forEach((wide, column) => svg("text", { x: left[side] + (column + 0.5) * width, y: bottom + 17, "text-anchor": "middle" }, drawing, `${wide}`));
      svg("text", { x: left[side] + 2 * width, y: bottom + 36, "text-anchor": "middle", class: "explorable-quiet" }, drawing, this.words.width);
      return this.keys.map((keys, row) => {
        svg("text", { x: left[side] - 5, y: top + (row + 0.65) * height, "text-anchor": "end" }, drawing, `${keys}`);
        return this.widths.map((_, column) => {
          const cell = svg("g", { transform: `translate(${left[side] + column * width},${top + row * height})`, class: "explorable-shade" }, drawing);
          svg("rect", { width: width - 2, height: height - 2, rx: 2 }, cell);
          svg("text", { x: width / 2 - 1, y: height * 0.62, "text-anchor": "middle" }, cell);
          cell.addEventListener("click", () => { [this.row, this.column] = [row, column]; this.update(); });
          return cell;
        });
      });
    });
    const set = (row, column) => { this.row = clamp(row, [0, this.keys.length - 1]); this.column = clamp(column, [0, this.widths.length - 1]); };
    const ring = (parent) => svg("rect", { width: width + 2, height: height + 2, x: -2, y: -2, rx: 4, class: "explorable-ring" }, parent);
    this.chosen = this.handle(svg("g", {}, drawing), this.words.model, {
      at: () => ({ now: this.row * this.widths.length + this.column, text: say(this.words.chosen, this.place()) }),
      to: (x, y) => set(Math.floor((y - top) / height), Math.floor((x - left[0]) / width)),
      step: (right, up) => set(this.row - up, this.column + right),
      limits: [0, this.keys.length * this.widths.length - 1],
    });
    ring(this.chosen);
    this.other = ring(drawing);
    this.numbers = this.table(stage, ARMS.map((arm) => this.words[arm]), SHOWN.map(([name]) => this.words[name]));
  }

  place() { return { keys: this.keys[this.row], width: this.widths[this.column] }; }

  of(arm, keys, width) {
    const wanted = { arm, keys, d_k: width };
    for (const name in this.choices) wanted[name] = this.choices[name][this[name]];
    return this.measured.find((row) => Object.keys(wanted).every((name) => row[name] === wanted[name]));
  }

  show() {
    const { width, height, left, top } = SQUARE, { keys, width: wide } = this.place();
    this.maps.forEach((map, side) => map.forEach((cells, row) => cells.forEach((cell, column) => {
      const { right } = this.of(ARMS[side], this.keys[row], this.widths[column]);
      cell.style.setProperty("--share", `${Math.round(100 * right)}%`);
      cell.lastChild.textContent = shown(100 * right, 0);
    })));
    [this.chosen, this.other].forEach((ring, side) => move(ring, left[side] + this.column * width, top + this.row * height));
    const models = ARMS.map((arm) => this.of(arm, keys, wide));
    SHOWN.forEach(([name, factor, digits], row) => models.forEach((model, column) => { this.numbers[row][column].textContent = shown(factor * model[name], digits); }));
    const [undivided, divided] = models.map(({ right }) => shown(100 * right, 0));
    const gain = Math.round(100 * models[1].right) - Math.round(100 * models[0].right);
    this.said.textContent = say(gain > 0 ? this.words.helps : gain < 0 ? this.words.harms : this.words.equal, { keys, width: wide, undivided, divided, gain: Math.abs(gain) });
  }
}

define("map", ScalingMap);
