// Online softmax over six words: what is kept after each block, beside the whole softmax of the words read so far.
const VALUES = [6, 0, 10, 2, 4, 8], SIZES = [1, 2, 3];
const SCORES = [-3, 6], STEP = 24, COLUMN = 52, EDGE = 48, HEAD = 14;
const FORGOTTEN = [[false, false], [true, false], [false, true], [true, true]]; // the sum, the values

class Blocks extends Explorable {
  scores = [0, 1, 0, 2, 3.5, 1];
  size = 1;
  read = 1;
  forgotten = 0;

  build(stage) {
    const controls = html("div", { class: "explorable-controls" }, stage);
    this.choose(controls, this.words.size, SIZES, "size");
    this.choose(controls, this.words.forget, this.words.forgotten, "forgotten");
    const bottom = HEAD + (SCORES[1] - SCORES[0]) * STEP, drawing = this.canvas(stage, bottom + 46);
    for (const score of [-2, 0, 2, 4, 6]) {
      svg("path", { class: score ? "explorable-faint" : "explorable-axis", d: `M${EDGE} ${this.y(score)}H${WIDTH}` }, drawing);
      svg("text", { x: EDGE - 8, y: this.y(score) + 5, "text-anchor": "end" }, drawing, shown(score, 0));
    }
    svg("text", { x: EDGE - 8, y: bottom + 18, "text-anchor": "end", class: "explorable-quiet" }, drawing, this.words.word);
    svg("text", { x: EDGE - 8, y: bottom + 38, "text-anchor": "end", class: "explorable-quiet" }, drawing, this.words.value);
    this.block = svg("rect", { y: 2, height: bottom + 42, rx: 5, class: "explorable-window" }, drawing);
    this.highest = svg("path", { class: "explorable-line warm" }, drawing);
    this.bars = SIX.map((word, place) => {
      const middle = EDGE + (place + 0.5) * COLUMN, group = svg("g", {}, drawing);
      svg("text", { x: middle, y: bottom + 18, "text-anchor": "middle", "font-size": 12 }, drawing, word);
      svg("text", { x: middle, y: bottom + 38, "text-anchor": "middle" }, drawing, `${VALUES[place]}`);
      const bar = svg("rect", { x: middle - 12, width: 24, class: "explorable-bar" }, group), grip = svg("g", {}, group);
      svg("circle", { r: 15, class: "explorable-grip" }, grip);
      svg("circle", { r: 7, class: "explorable-shape" }, grip);
      const set = (score) => { this.scores[place] = Math.round(clamp(score, SCORES) * 2) / 2; };
      this.handle(grip, say(this.words.scoreOf, { word }), {
        at: () => ({ now: this.scores[place], text: shown(this.scores[place], 1) }),
        to: (_, y) => set(SCORES[1] - (y - HEAD) / STEP),
        step: (right, up) => set(this.scores[place] + (right + up) / 2),
        limits: SCORES,
      });
      return { middle, bar, grip };
    });
    this.steps = this.slide(html("div", { class: "explorable-controls" }, stage), this.words.read, [0, SIX.length], "read", String);
    this.numbers = this.table(stage, this.words.columns, [this.words.kept, this.words.whole]);
  }

  y(score) { return HEAD + (SCORES[1] - score) * STEP; }

  // The state after so many blocks; `shrink` is by what the old sums are multiplied when the last one comes.
  after(blocks) {
    const size = SIZES[this.size], [forgetsSum, forgetsValues] = FORGOTTEN[this.forgotten];
    let state = { highest: -Infinity, total: 0, summed: 0, shrink: 1 };
    for (const block of range(blocks)) {
      const here = range(size).map((place) => block * size + place);
      const highest = Math.max(state.highest, ...here.map((place) => this.scores[place])), shrink = Math.exp(state.highest - highest);
      const powers = here.map((place) => Math.exp(this.scores[place] - highest));
      state = {
        highest,
        shrink,
        total: state.total * (forgetsSum ? 1 : shrink) + sum(powers),
        summed: state.summed * (forgetsValues ? 1 : shrink) + sum(powers.map((power, at) => power * VALUES[here[at]])),
      };
    }
    return state;
  }

  whole(words) {
    const highest = Math.max(...this.scores.slice(0, words)), powers = this.scores.slice(0, words).map((score) => Math.exp(score - highest));
    return { highest, total: sum(powers), summed: sum(powers.map((power, place) => power * VALUES[place])) };
  }

  show() {
    const size = SIZES[this.size], blocks = SIX.length / size;
    this.steps.max = blocks;
    this.read = Math.min(this.read, blocks);
    const { read } = this, before = this.after(Math.max(read - 1, 0)), now = this.after(read), whole = this.whole(read * size);
    this.bars.forEach(({ middle, bar, grip }, place) => {
      const [low, high] = [0, this.scores[place]].sort((one, other) => one - other);
      put(bar, { y: this.y(high), height: (high - low) * STEP, "data-read": place < read * size });
      move(grip, middle, this.y(this.scores[place]));
    });
    put(this.block, { x: EDGE + (read - 1) * size * COLUMN, width: read ? size * COLUMN : 0 });
    this.highest.setAttribute("d", read ? `M${EDGE} ${this.y(now.highest)}H${EDGE + read * size * COLUMN}` : "");
    [now, whole].forEach(({ highest, total, summed }, row) =>
      [highest, total, summed, summed / total].forEach((number, column) => { this.numbers[row][column].textContent = shown(number, column ? 3 : 1); }));
    const values = {
      from: shown(before.highest, 1),
      to: shown(now.highest, 1),
      shrink: shown(now.shrink, 3),
      average: shown(now.summed / now.total, 3),
      right: shown(whole.summed / whole.total, 3),
      names: listed(SIX.slice(Math.max(read - 1, 0) * size, read * size)),
    };
    const told = !read ? "start" : read === 1 ? "first" : now.shrink < 1 ? "rises" : "stays";
    this.said.textContent = say(this.words[told], values) + (read ? " " + say(this.words[values.average === values.right ? "agrees" : "differs"], values) : "");
  }
}

define("blocks", Blocks);
