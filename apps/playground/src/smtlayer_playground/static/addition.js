// Draw two digits; see the bits, the sum, and what was overruled.
import { ask, asker, chance, find, h, list, listed, milliseconds, percent, rounded, source, tag } from "/static/ui.js";
import { fromText, pad, show, toText } from "/static/ink.js";

const PLACES = [8, 4, 2, 1];

/** Whether the five bits of a sum can hold a number; the solver is asked for no others. */
const hasBits = (text) => Number.isInteger(Number(text)) && Number(text) >= 0 && Number(text) <= 31;

export async function startAddition(about) {
  const digits = [makeDigit("First digit, a", () => changed()), makeDigit("Second digit, b", () => changed())];
  find("addition-digits").append(digits[0].card, h("div", { class: "plus", "aria-hidden": "true" }, "+"), digits[1].card);
  find("addition-source").textContent = source(about.addition.run, about.addition.images);
  const wanted = find("addition-wanted");
  const answer = find("addition-answer"), blame = find("addition-blame");
  const send = asker("addition", answer, (told) => {
    digits.forEach((digit, place) => digit.show(told, place));
    showSum(answer, told);
    showBlame(blame, told.explanation, wanted.value, about.addition.rules);
  });
  function changed() {
    if (digits.every((digit) => digit.picture())) return send(question);
    send.cancel();
    answer.replaceChildren(h("p", { class: "note" }, "Draw both digits."));
    showBlame(blame, null, "", about.addition.rules);
  }
  function question() {
    const number = wanted.value !== "" && hasBits(wanted.value) ? Number(wanted.value) : null;
    const flipped = digits.flatMap((digit) => [...digit.flipped]);
    return { digits: digits.map((digit) => toText(digit.picture())), wanted: number, flipped };
  }
  wanted.addEventListener("input", changed);
  await Promise.all([digits[0].offer(3), digits[1].offer(8)]);
  changed();
}

function makeDigit(title, ask_again) {
  const flipped = new Set(); // bits that somebody turned round, of this picture
  const changed = () => {
    flipped.clear();
    read.textContent = ""; // the reading of the picture before
    bits.replaceChildren();
    show(seen, new Uint8Array(28 * 28));
    ask_again();
  };
  const flip = (name) => {
    if (!flipped.delete(name)) flipped.add(name);
    ask_again();
  };
  const board = pad(`${title}: draw here, or press a key from 0 to 9 for a handwritten one, Delete to clear`, changed);
  const seen = h("canvas", { width: 28, height: 28, role: "img", "aria-label": "What the network sees" });
  const bits = h("ul", { class: "bits", "aria-label": `Bits of the ${title.toLowerCase()}` });
  const read = h("span", { class: "tag quiet" }, "");
  const choose = h("select", { "aria-label": `Handwritten ${title.toLowerCase()}`, change: () => choose.value && offer(choose.value).then(changed) },
    h("option", { value: "" }, "From MNIST"), [...Array(10).keys()].map((value) => h("option", { value: String(value) }, String(value))));
  async function offer(value) {
    board.offer(fromText((await ask("digit", { digit: Number(value) })).image));
    choose.value = "";
  }
  board.canvas.addEventListener("keydown", (event) => {
    if (/^[0-9]$/.test(event.key)) offer(event.key).then(changed);
    else if (event.key === "Delete" || event.key === "Backspace") board.clear();
    else return;
    event.preventDefault();
  });
  const card = h("div", { class: "card digit" }, h("h2", {}, title, read),
    h("div", {}, board.canvas, h("div", { class: "tools" }, h("button", { type: "button", click: board.clear }, "Clear"), choose)),
    h("div", {}, h("div", { class: "seen" }, seen, "What the network sees"), bits,
      h("p", { class: "note" }, "Click a bit to flip it: set 8 and 4, and the solver must object.")));
  return {
    card, offer, flipped, picture: board.read,
    show(told, place) {
      show(seen, fromText(told.images[place]));
      const symbol = told.explanation.read[place];
      read.textContent = `reads ${symbol.value} · ${percent(symbol.certainty)}`;
      const focused = [...bits.querySelectorAll("button")].indexOf(document.activeElement);
      bits.replaceChildren(...symbol.columns.map((column, bit) => bitRow(column, PLACES[bit], told.explanation, flipped, flip)));
      if (focused >= 0) bits.querySelectorAll("button")[focused].focus();
    },
  };
}

function bitRow(column, place, told, flipped, flip) {
  const is = chance(column.logit);
  const sure = Math.max(is, 1 - is);
  const over = told.overruled.some((symbol) => symbol.columns.includes(column.name));
  const blamed = told.blame?.inputs.some((symbol) => symbol.columns.includes(column.name));
  const bar = h("i");
  bar.style.width = `${100 * (2 * sure - 1)}%`;
  const value = column.value ? "1" : "0";
  const shown = over ? `${value} → ${column.value ? "0" : "1"}` : value;
  const own = flipped.has(column.name);
  const label = `Bit ${place}: ${shown}, ${percent(sure)} certain${own ? ", flipped by you" : ""}${over ? ", overruled by the solver" : ""}${blamed ? ", blamed" : ""}`;
  return h("li", { class: `bit${over ? " overruled" : ""}${blamed ? " blamed" : ""}` },
    h("span", { class: "place" }, String(place)),
    h("button", { type: "button", class: `bar ${column.value ? "one" : "zero"}${own ? " flipped" : ""}`, title: label, "aria-label": label, click: () => flip(column.name) },
      bar, h("b", {}, shown)), percent(sure));
}

function showSum(place, told) {
  const { explanation } = told;
  const values = explanation.read.map((symbol) => explanation.overruled.find((over) => over.name === symbol.name)?.taken ?? symbol.value);
  const words = values.map((value, i) => h("span", { class: value === explanation.read[i].value ? "" : "taken" }, String(value)));
  if (!explanation.answer) {
    place.replaceChildren(h("p", { class: "note" }, "The solver found no sum."));
    return;
  }
  const cost = tag(explanation.overruled.length ? "over" : "fits", explanation.overruled.length ? "overruled" : "fits the formula");
  const runner = explanation.runner_up;
  place.replaceChildren(
    h("h2", {}, "The solver's sum"),
    h("p", { class: "result", id: "addition-sum" }, words[0], " + ", words[1], " = ", h("span", { class: "answer" }, String(explanation.answer.total))),
    h("p", {}, cost, " ", explanation.overruled.length
      ? listed(explanation.overruled.map((over) => `${over.name} was read as ${over.read} and taken as ${over.taken}, at a cost of ${rounded(over.cost)}`)) + "."
      : "What was read is taken as it is."),
    runner ? h("p", { class: "note" }, `Next best: ${runner.answer.total}, at a cost of ${rounded(runner.cost)}: ` +
      listed(runner.overruled.map((over) => `${over.name} would be ${over.taken}`)) + ".") : null,
    h("p", { class: "note" }, `Cost: how certain the network was of the bits that are overruled, as log-odds. ${milliseconds(told.ms)}.`),
  );
}

function showBlame(place, told, wanted, rules) {
  if (wanted === "") {
    place.replaceChildren(h("p", { class: "note" }, "Say which sum you wanted. The solver then names a smallest set of bits that stands in its way: those are what training would push."));
    return;
  }
  if (!hasBits(wanted)) {
    place.replaceChildren(h("p", {}, tag("core", "impossible"), ` No two digits make ${wanted}: sums are whole numbers from 0 to 18.`));
    return;
  }
  if (!told.blame) {
    place.replaceChildren(h("p", {}, tag("fits", "nobody is blamed"), ` The bits as they were read allow ${wanted}.`));
    return;
  }
  const inputs = told.blame.inputs;
  if (!inputs.length) {
    place.replaceChildren(h("p", {}, tag("core", "impossible"), ` No two digits make ${wanted}, whatever is read.`), constraints(told.blame, rules));
    return;
  }
  place.replaceChildren(
    h("p", {}, tag("core", "blamed"), ` For ${wanted} to come out, these cannot all stay as they were read:`),
    list(inputs.map((input) => `${input.name}: ${listed(input.columns.map((column) => `bit ${PLACES[bitOf(told, column)]}`))}`)),
    constraints(told.blame, rules),
  );
}

function bitOf(told, name) {
  for (const symbol of told.read) {
    const place = symbol.columns.findIndex((column) => column.name === name);
    if (place >= 0) return place;
  }
  return 0;
}

function constraints(blame, rules) {
  return h("div", {}, h("p", { class: "note" }, "For the solver knows:"), list(blame.constraints.map((part) => rules[part.index] ?? part.text)));
}
