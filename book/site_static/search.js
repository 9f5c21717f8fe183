// The search: MiniSearch finds words in the sections of the book (search-index.js, made by book/extensions/search.py), and this puts what it
// finds in order and shows it while the reader types. A classic script: a page from file:// may load neither modules nor data.
(() => {
"use strict";
const LABELS = {
  dialog: "Search the book",
  results: "Results",
  kinds: { exercise: "Exercise", chapter: "Chapter" },
  none: "Nothing found. A shorter word, or the beginning of one, may do.",
  wait: "Reading the book …",
  one: "1 result",
  many: "{n} results",
  first: "The first {shown} of {n} results",
  all: "All {n} results",
};
const SHOWN = 8, ON_A_PAGE = 3, WHOLE = 60; // results while typing, how many of them from one page, and on the page of results
const AROUND = 70; // letters of an excerpt before the first word that was found
const LONG = 190;
const ROOT = document.documentElement.dataset.content_root;
const { pages, sections } = globalThis.SEARCH;

// --- words ---

// A letter of Chinese is a word of its own: no dictionary is needed, and whoever types 掩码 gets what has both, side by side.
const WORD = /\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{M}\p{N}_'’])+/gu;
const HAN = /\p{Script=Han}+/gu, CHINESE = /\p{Script=Han}/u;
// Words that a question may have and the answer need not.
const SMALL = new Set("a an and are at be by can do does for from how i in is it of on or that the there this to was what when where which who why with you".split(" "));

// One form for words that differ in accents, in the plural, or in the country where they are spelt so.
function plain(word) {
  const letters = word.normalize("NFKD").replace(/[\p{M}'’]/gu, "").toLowerCase();
  return letters.replace(/^(.{2,})ies$/, "$1y").replace(/^(.{2,}[^su])s$/, "$1").replace(/iz(?=e|ing|ation|er)/, "is");
}
const words = (text) => (text.match(WORD) || []).map(plain).filter(Boolean);
const asked = (text) => {
  const telling = words(text.split(/\s+/).filter((part) => !SMALL.has(part.toLowerCase())).join(" "));
  return telling.length ? telling : words(text);
};
// A word with a hyphen or an underscore is found in one piece too: "multihead", "dmodel".
const COMPOUND = /[\p{L}\p{N}]+(?:[-_][\p{L}\p{N}]+)+/gu;
const indexed = (text) => [
  ...(text.match(WORD) || []),
  ...(text.match(COMPOUND) || []).flatMap((word) => [word.replace(/[-_]/g, ""), ...word.split("_").filter((part) => part.length > 2)]),
];

// --- what is looked for, and where ---

// How much a find on a page counts; what isn't the course itself, and lists that mention everything, come last.
const COUNTS = { chapter: 1, page: 0.8, exercise: 0.7, term: 0.6, more: 0.4 };

const places = sections.map(([page, anchor, heading, text, code, names, isTerm], id) => {
  const [address, title, kind] = pages[page];
  const own = isTerm ? [heading.replace(/\p{Script=Han}.*/u, ""), (heading.match(/\p{Script=Han}.*/u) || [""])[0]] : [heading, heading.split(": ")[0]];
  const called = names ? names.split(" | ") : [];
  return {
    id, page, heading, text, code, names, title, isTerm,
    isHead: !anchor,
    kind: isTerm ? "term" : kind,
    href: ROOT + address + (anchor ? "#" + anchor : ""),
    own: own.map((name) => asked(name).join(" ")).filter(Boolean),
    called: called.map((name) => asked(name).join(" ")),
  };
});

const made = (fields) => new MiniSearch({
  fields,
  tokenize: indexed,
  processTerm: (term) => plain(term) || null,
  searchOptions: {
    tokenize: asked,
    processTerm: (term) => term,
    boost: { names: 4, heading: 3, code: 0.3 },
    boostDocument: (id) => COUNTS[places[id].kind] * (places[id].isHead ? 1.2 : 1),
  },
});
// Headings and names are read at once, the text in pieces, so that a slow phone answers to the first letters and never stands still.
let index = made(["heading", "names"]), isWhole = false;
index.addAll(places);
const whole = made(["heading", "names", "text", "code"]);
const ready = whole.addAllAsync(places, { chunkSize: 20 }).then(() => ([index, isWhole] = [whole, true]));

// --- in which order ---

// How well a name answers the question: 0 is the name itself, 1 begins so, 2 has all of its words, 3 hasn't.
function fit(name, question, terms) {
  if (name === question.text) return 0;
  if (name.startsWith(question.text)) return 1;
  const parts = name.split(" ");
  return question.words.every((word) => parts.some((part) => part.startsWith(word))) ||
    parts.filter((part) => terms.has(part)).length >= question.words.length ? 2 : 3;
}

// What pages are called comes first, then headings and terms, then the text; by how well a name fits.
const OTHER = 6, OF_PAGES = [0, 1, 4, OTHER], OF_HEADINGS = [2, 3, 5, OTHER];

function place(found, question) {
  const about = places[found.id], terms = new Set(found.terms);
  const ranks = [[OTHER, 0]];
  const take = (names, order) => names.forEach((name) => ranks.push([order[fit(name, question, terms)], name.length]));
  take(about.called, OF_PAGES);
  if (about.isHead) take(about.own, OF_PAGES);
  else if (about.kind !== "more") take(about.own, OF_HEADINGS);
  return { ...about, terms, score: found.score, rank: ranks.sort((a, b) => a[0] - b[0] || a[1] - b[1])[0] };
}

const inOrder = (a, b) =>
  a.rank[0] - b.rank[0] || (a.rank[0] < OTHER ? COUNTS[b.kind] - COUNTS[a.kind] || a.rank[1] - b.rank[1] || a.id - b.id : 0) || b.score - a.score || a.id - b.id;

function find(text) {
  const all = asked(text);
  if (!all.length) return [];
  const question = { words: all, text: all.join(" ") };
  const chinese = text.match(HAN) || [];
  const exact = { prefix: (term) => term.length > 1 || !/\p{L}/u.test(term), combineWith: "AND" };
  const loose = { ...exact, fuzzy: (term) => (term.length > 4 ? 1 : false) };
  let found = [];
  for (const options of [exact, loose, { ...loose, combineWith: "OR" }]) {
    found = index.search(text, options).filter(({ id }) => chinese.every((part) => (places[id].heading + places[id].text + places[id].names).includes(part)));
    if (found.length) break;
  }
  found = found.map((each) => place(each, question)).sort(inOrder);
  // A term in Chinese leads on to what the book says of it in English.
  if (chinese.length && found.length && found[0].isTerm) {
    const english = find(found[0].heading.replace(/\p{Script=Han}.*/u, "")).filter((each) => found.every((other) => other.id !== each.id));
    found = [...found, ...english];
  }
  return found;
}

// A few results of each page, so that none fills the list; the others after all, if there is room.
function mixed(found, number) {
  const counts = new Map(), first = [], rest = [];
  for (const each of found) {
    const count = (counts.get(each.page) || 0) + 1;
    counts.set(each.page, count);
    (count <= ON_A_PAGE ? first : rest).push(each);
  }
  return [...first, ...rest].slice(0, number);
}

// --- what is shown ---

function put(name, attributes, parent, text) {
  const node = document.createElement(name);
  for (const each in attributes) node.setAttribute(each, attributes[each]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

// Text with the words marked that were found; Chinese names its language, so that a screen reader can read it.
function write(parent, text, terms, question) {
  let end = 0;
  const chinese = question.match(HAN) || [];
  const marks = [...text.matchAll(WORD)].map((word) => [word.index, word[0]]).filter(([, word]) => !CHINESE.test(word) && terms.has(plain(word)));
  for (const run of text.matchAll(HAN)) {
    marks.push([run.index, run[0], chinese.find((part) => run[0].includes(part)) || ""]);
  }
  for (const [start, word, part] of marks.sort((a, b) => a[0] - b[0])) {
    parent.append(text.slice(end, start));
    if (part === undefined) put("mark", {}, parent, word);
    else {
      const run = put("span", { lang: "zh" }, parent), at = part ? word.indexOf(part) : word.length;
      run.append(word.slice(0, at));
      if (part) put("mark", {}, run, part), run.append(word.slice(at + part.length));
    }
    end = start + word.length;
  }
  parent.append(text.slice(end));
}

// The part of a text in which most of the words stand that are looked for, the first such part; of a page that is called so, the beginning.
function excerpt({ text, terms, isHead, rank }, question) {
  const chinese = (question.match(HAN) || []).map((part) => text.indexOf(part)).filter((at) => at >= 0);
  const hits = [...text.matchAll(WORD)].map((word) => [word.index, plain(word[0])]).filter(([, word]) => terms.has(word) && !CHINESE.test(word));
  hits.splice(60); // enough to find a good place, and a long list of them takes its time
  const all = asked(question), meant = (word) => all.find((each) => word.startsWith(each)) || word;
  let best = chinese.length ? chinese[0] : 0, most = 0;
  for (const [at] of chinese.length ? [] : hits) {
    const count = new Set(hits.filter(([other]) => other >= at && other < at + LONG - AROUND).map(([, word]) => meant(word))).size;
    if (count > most) [best, most] = [at, count];
  }
  if (isHead && rank[0] < OTHER) best = 0;
  const from = best > AROUND ? text.indexOf(" ", best - AROUND) + 1 || best : 0;
  const to = from + LONG < text.length ? text.lastIndexOf(" ", from + LONG) : text.length;
  return (from ? "… " : "") + text.slice(from, to > best ? to : from + LONG) + (to < text.length ? " …" : "");
}

function result(found, question, name, attributes, parent) {
  const link = put(name, { class: "found", href: found.href, ...attributes }, parent);
  const above = found.isHead ? LABELS.kinds[found.kind] : found.title;
  if (above) {
    const line = put("span", { class: "found-page" }, link);
    write(line, above, new Set(), "");
    link.append(" ");
  }
  write(put("span", { class: "found-heading" }, link), found.heading, found.terms, question);
  link.append(" ");
  write(put("span", { class: "found-text" }, link), excerpt(found, question), found.terms, question);
  return link;
}

const count = (number) => (number === 0 ? (isWhole ? LABELS.none : LABELS.wait) : number === 1 ? LABELS.one : LABELS.many.replace("{n}", number));

// --- while the reader types: a combobox with a list, as the ARIA practices describe it ---

function combobox(dialog, input) {
  dialog.setAttribute("aria-label", LABELS.dialog);
  const list = put("div", { id: "found-list", role: "listbox", "aria-label": LABELS.results, hidden: "" }, dialog);
  const all = put("a", { class: "found-all", hidden: "" }, dialog);
  const status = put("p", { class: "visually-hidden", role: "status" }, dialog);
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-controls": list.id, "aria-expanded": "false" })) {
    input.setAttribute(name, value);
  }
  let active = -1;

  const choose = (number) => {
    list.children[active]?.setAttribute("aria-selected", "false");
    active = number;
    const option = list.children[active];
    if (!option) return input.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", option.id);
  };

  const show = () => {
    const question = input.value.trim(), found = find(question), shown = mixed(found, SHOWN);
    list.replaceChildren();
    shown.forEach((each, number) => result(each, question, "a", { id: `found-${number}`, role: "option", tabindex: -1, "aria-selected": "false" }, list));
    list.hidden = !shown.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    choose(shown.length ? 0 : -1);
    list.scrollTop = 0;
    all.hidden = !question;
    all.classList.toggle("found-nothing", !shown.length);
    all.textContent = found.length ? LABELS.all.replace("{n}", found.length) : count(0);
    if (found.length) all.href = `${input.form.action}?q=${encodeURIComponent(question)}`;
    else all.removeAttribute("href");
    status.textContent = question ? count(found.length) : "";
  };

  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    const number = list.children.length;
    if (!number || event.isComposing) return;
    if (event.key === "ArrowDown") choose((active + 1) % number);
    else if (event.key === "ArrowUp") choose((active - 1 + number) % number);
    else if (event.key === "Enter") list.children[active].click();
    else return;
    event.preventDefault();
  });
  // A result on the page that is open: only the place changes, and the list would stay in front of it.
  list.addEventListener("click", () => dialog.close());
  show();
  ready.then(() => (show(), (list.dataset.whole = "")));
}

// --- the page of results ---

function page(form, input, results) {
  const status = document.getElementById("search-count");
  const show = () => {
    const question = input.value.trim(), found = find(question), shown = mixed(found, WHOLE);
    const list = put("ol", { class: "found-all-results" });
    for (const each of shown) result(each, question, "a", {}, put("li", {}, list));
    results.replaceChildren(list);
    status.textContent = !question ? "" : found.length > WHOLE ? LABELS.first.replace("{shown}", WHOLE).replace("{n}", found.length) : count(found.length);
  };
  input.value = new URLSearchParams(location.search).get("q") || "";
  input.addEventListener("input", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const address = new URL(location.href);
    address.searchParams.set("q", input.value.trim());
    history.replaceState(null, "", address);
    show();
  });
  show();
  ready.then(show);
}

const dialog = document.getElementById("pst-search-dialog"), results = document.getElementById("search-results");
if (dialog) combobox(dialog, dialog.querySelector("input"));
const form = results?.parentElement.querySelector("form.bd-search");
if (form) page(form, form.querySelector("input"), results);
})();
