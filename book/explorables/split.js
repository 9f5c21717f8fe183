// Four words of eight numbers go to heads and back: one number is followed, with the swap of axes and without it.
const TOKENS = 4, ACROSS = 8, CELL = 36, DOWN = 26, MARGIN = 60;
const HEADS = [2, 4], TABLES = [24, 176, 312]; // where each begins

class Split extends Explorable {
  number = 21;
  heads = 0;
  splitSwaps = true;
  mergeSwaps = true;

  build(stage) {
    const controls = html("div", { class: "explorable-controls" }, stage);
    this.choose(controls, this.words.heads, HEADS, "heads");
    this.tick(controls, this.words.splitSwaps, true, (isOn) => { this.splitSwaps = isOn; });
    this.tick(controls, this.words.mergeSwaps, true, (isOn) => { this.mergeSwaps = isOn; });
    const drawing = this.canvas(stage, TABLES[2] + TOKENS * DOWN);
    this.tables = ["words", "split", "merged"].map((name, place) => {
      const top = TABLES[place];
      const title = svg("text", { x: 0, y: top - (name === "split" ? 24 : 8), class: "explorable-title" }, drawing);
      const rows = range(TOKENS).map((row) => svg("text", { x: MARGIN - 6, y: top + (row + 0.7) * DOWN, "text-anchor": "end" }, drawing));
      const heads = range(HEADS[1]).map(() => svg("text", { y: top - 7, class: "explorable-quiet" }, drawing));
      const cells = range(TOKENS * ACROSS).map(() => {
        const group = svg("g", { class: "explorable-cell" }, drawing);
        svg("rect", { width: CELL - 2, height: DOWN - 2, rx: 3 }, group);
        svg("text", { x: CELL / 2 - 1, y: DOWN * 0.66, "text-anchor": "middle" }, group);
        return group;
      });
      return { name, top, title, rows, heads, cells };
    });
    this.tables[0].cells.forEach((cell, number) => cell.addEventListener("click", () => { this.number = number; this.update(); }));
    const set = (number) => { this.number = clamp(number, [0, TOKENS * ACROSS - 1]); };
    this.follow = this.handle(svg("g", {}, drawing), this.words.follow, {
      at: () => ({ now: this.number, text: say(this.words.followed, { number: this.number, word: WORDS[Math.floor(this.number / ACROSS)] }) }),
      to: (x, y) => set(clamp(Math.floor((y - TABLES[0]) / DOWN), [0, 3]) * ACROSS + clamp(Math.floor((x - MARGIN) / CELL), [0, 7])),
      step: (right, up) => { const next = this.number + right - up * ACROSS; if (next === clamp(next, [0, 31])) this.number = next; },
      limits: [0, TOKENS * ACROSS - 1],
    });
    svg("rect", { width: CELL + 2, height: DOWN + 2, x: -2, y: -2, rx: 4, class: "explorable-ring" }, this.follow);
    this.rings = [1, 2].map(() => svg("rect", { width: CELL + 2, height: DOWN + 2, x: -2, y: -2, rx: 4, class: "explorable-ring" }, drawing));
  }

  // The numbers of each table in reading order: tokens × width, then heads × tokens × width of a head, then tokens × width again.
  deal() {
    const heads = HEADS[this.heads], wide = ACROSS / heads, all = range(TOKENS * ACROSS);
    const parts = (place) => [Math.floor(place / (TOKENS * wide)), Math.floor(place / wide) % TOKENS, place % wide];
    const split = all.map((place) => {
      const [head, token, column] = parts(place);
      return this.splitSwaps ? token * ACROSS + head * wide + column : place;
    });
    const merged = all.map((place) => {
      const token = Math.floor(place / ACROSS), head = Math.floor((place % ACROSS) / wide);
      return split[this.mergeSwaps ? (head * TOKENS + token) * wide + place % wide : place];
    });
    return { heads, wide, parts, tables: [all, split, merged] };
  }

  show() {
    const { heads, wide, parts, tables } = this.deal(), gap = 12 / (heads - 1);
    this.tables.forEach(({ name, top, title, rows, heads: names, cells }, place) => {
      const inHeads = name === "split", numbers = tables[place];
      const ways = { words: "", split: this.splitSwaps, merged: this.mergeSwaps };
      title.textContent = say(this.words[name + (ways[name] === false ? "Cut" : "")], { heads, wide });
      names.forEach((text, head) => {
        text.textContent = inHeads && head < heads ? say(heads > 2 ? "{head}" : this.words.head, { head }) : "";
        text.setAttribute("x", MARGIN + head * (wide * CELL + gap));
      });
      cells.forEach((cell, at) => {
        const [head, token, column] = inHeads ? parts(at) : [0, Math.floor(at / ACROSS), at % ACROSS];
        const x = MARGIN + (inHeads ? head * (wide * CELL + gap) : 0) + column * CELL, y = top + token * DOWN;
        move(cell, x, y);
        cell.dataset.word = Math.floor(numbers[at] / ACROSS);
        cell.lastChild.textContent = numbers[at];
        if (numbers[at] === this.number) move(place ? this.rings[place - 1] : this.follow, x, y);
      });
      rows.forEach((text, row) => {
        const owners = new Set(numbers.filter((_, at) => (inHeads ? parts(at)[1] : Math.floor(at / ACROSS)) === row).map((each) => WORDS[Math.floor(each / ACROSS)]));
        text.textContent = owners.size === 1 ? [...owners][0] : this.words.mixed;
      });
    });
    const [head, row, column] = parts(tables[1].indexOf(this.number)), back = tables[2].indexOf(this.number);
    const inHead = WORDS.filter((_, word) => tables[1].some((each, at) => parts(at)[0] === head && Math.floor(each / ACROSS) === word));
    this.said.textContent = [
      say(this.words.went, { number: this.number, from: this.index(this.number), to: `[${head}, ${row}, ${column}]`, head, names: listed(inHead) }),
      say(back === this.number ? this.words.home : this.words.lost, { back: this.index(back) }),
      inHead.length < TOKENS ? this.words.blind : "",
    ].join(" ");
  }

  index(place) { return `[${Math.floor(place / ACROSS)}, ${place % ACROSS}]`; }
}

define("split", Split);
