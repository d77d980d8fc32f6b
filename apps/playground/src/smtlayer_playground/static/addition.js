// Two drawn digits: the bits that are read, their sum, and the bits that are overruled or blamed.
import { debouncedPost, find, h, joined, list, milliseconds, percent, post, rounded, sigmoid, source, tag } from "/static/ui.js";
import { decode, encode, pad, show, SIDE } from "/static/ink.js";

const WEIGHTS = [8, 4, 2, 1]; // of the bits of a digit

/** Whether the five bits of a sum can hold a number. */
const fitsBits = (text) => Number.isInteger(Number(text)) && Number(text) >= 0 && Number(text) <= 31;

export async function startAddition(about) {
  const digits = [makeDigit("First digit, a", () => changed()), makeDigit("Second digit, b", () => changed())];
  find("addition-digits").append(digits[0].card, h("div", { class: "plus", "aria-hidden": "true" }, "+"), digits[1].card);
  find("addition-source").textContent = source(about.addition.run, about.addition.images);
  const wanted = find("addition-wanted");
  const sumPanel = find("addition-answer"), blamePanel = find("addition-blame");
  const send = debouncedPost("addition", sumPanel, (answer) => {
    digits.forEach((digit, i) => digit.show(decode(answer.images[i]), answer.explanation.read[i], answer.explanation));
    showSum(sumPanel, answer);
    showBlame(blamePanel, answer.explanation, wanted.value, about.addition.rules);
  });
  function changed() {
    if (digits.every((digit) => digit.image())) return send(request);
    send.cancel();
    sumPanel.replaceChildren(h("p", { class: "note" }, "Draw both digits."));
    showBlame(blamePanel, null, "", about.addition.rules);
  }
  function request() {
    const total = wanted.value !== "" && fitsBits(wanted.value) ? Number(wanted.value) : null;
    const flipped = digits.flatMap((digit) => [...digit.flipped]);
    return { digits: digits.map((digit) => encode(digit.image())), wanted: total, flipped };
  }
  wanted.addEventListener("input", changed);
  await Promise.all([digits[0].offer(3), digits[1].offer(8)]);
  changed();
}

function makeDigit(title, update) {
  const flipped = new Set(); // names of the bits that the user flipped
  const changed = () => {
    flipped.clear();
    reading.textContent = "";
    bits.replaceChildren();
    show(thumbnail, new Uint8Array(SIDE * SIDE));
    update();
  };
  const flip = (name) => {
    if (!flipped.delete(name)) flipped.add(name);
    update();
  };
  const drawing = pad(`${title}: draw here, or press a key from 0 to 9 for a handwritten digit, Delete to clear`, changed);
  const thumbnail = h("canvas", { width: SIDE, height: SIDE, role: "img", "aria-label": "What the network sees" });
  const bits = h("ul", { class: "bits", "aria-label": `Bits of the ${title.toLowerCase()}` });
  const reading = h("span", { class: "tag quiet" }, "");
  const choose = h("select", { "aria-label": `Handwritten ${title.toLowerCase()}`, change: () => choose.value && offer(choose.value).then(changed) },
    h("option", { value: "" }, "From MNIST"), [...Array(10).keys()].map((value) => h("option", { value: String(value) }, String(value))));
  async function offer(value) {
    drawing.offer(decode((await post("digit", { digit: Number(value) })).image));
    choose.value = "";
  }
  drawing.canvas.addEventListener("keydown", (event) => {
    if (/^[0-9]$/.test(event.key)) offer(event.key).then(changed);
    else if (event.key === "Delete" || event.key === "Backspace") drawing.clear();
    else return;
    event.preventDefault();
  });
  const card = h("div", { class: "card digit" }, h("h2", {}, title, reading),
    h("div", {}, drawing.canvas, h("div", { class: "tools" }, h("button", { type: "button", click: drawing.clear }, "Clear"), choose)),
    h("div", {}, h("div", { class: "seen" }, thumbnail, "What the network sees"), bits,
      h("p", { class: "note" }, "Click a bit to flip it. Set 8 and 4, and the solver must overrule one of them.")));
  return {
    card, offer, flipped, image: drawing.read,
    show(image, symbol, explanation) {
      show(thumbnail, image);
      reading.textContent = `reads ${symbol.value} · ${percent(symbol.certainty)}`;
      const focused = [...bits.querySelectorAll("button")].indexOf(document.activeElement);
      bits.replaceChildren(...symbol.columns.map((column, i) => bitRow(column, WEIGHTS[i], explanation, flipped, flip)));
      if (focused >= 0) bits.querySelectorAll("button")[focused].focus();
    },
  };
}

function bitRow(column, weight, explanation, flipped, flip) {
  const certainty = sigmoid(Math.abs(column.logit));
  const overruled = explanation.overruled.some((symbol) => symbol.columns.includes(column.name));
  const blamed = explanation.blame?.inputs.some((symbol) => symbol.columns.includes(column.name));
  const bar = h("i");
  bar.style.width = `${100 * (2 * certainty - 1)}%`;
  const value = column.value ? "1" : "0";
  const text = overruled ? `${value} → ${column.value ? "0" : "1"}` : value;
  const byUser = flipped.has(column.name);
  const label = `Bit ${weight}: ${text}, ${percent(certainty)} certain${byUser ? ", flipped by you" : ""}${overruled ? ", overruled by the solver" : ""}${blamed ? ", blamed" : ""}`;
  return h("li", { class: `bit${overruled ? " overruled" : ""}${blamed ? " blamed" : ""}` },
    h("span", { class: "place" }, String(weight)),
    h("button", { type: "button", class: `bar ${column.value ? "one" : "zero"}${byUser ? " flipped" : ""}`, title: label, "aria-label": label, click: () => flip(column.name) },
      bar, h("b", {}, text)), percent(certainty));
}

function showSum(panel, { explanation, ms }) {
  const { read, overruled, answer, runner_up: runnerUp } = explanation;
  if (!answer) {
    panel.replaceChildren(h("p", { class: "note" }, "The solver found no sum."));
    return;
  }
  const digits = read.map((symbol) => {
    const taken = overruled.find((change) => change.name === symbol.name)?.taken ?? symbol.value;
    return h("span", { class: taken === symbol.value ? "" : "taken" }, String(taken));
  });
  panel.replaceChildren(
    h("h2", {}, "The solver's sum"),
    h("p", { class: "result", id: "addition-sum" }, digits[0], " + ", digits[1], " = ", h("span", { class: "answer" }, String(answer.total))),
    h("p", {}, ...(overruled.length
      ? [tag("over", "overruled"), ` ${joined(overruled.map((change) => `${change.name} was read as ${change.read} and changed to ${change.taken}, at a cost of ${rounded(change.cost)}`))}.`]
      : [tag("fits", "consistent"), " The digits are used as they were read."])),
    runnerUp ? h("p", { class: "note" }, `Next best: ${runnerUp.answer.total}, at a cost of ${rounded(runnerUp.cost)}: ` +
      joined(runnerUp.overruled.map((change) => `${change.name} would be ${change.taken}`)) + ".") : "",
    h("p", { class: "note" }, `The cost is the network's confidence in the overruled bits, in log-odds. Solved in ${milliseconds(ms)}.`),
  );
}

function showBlame(panel, explanation, wanted, rules) {
  if (wanted === "") {
    panel.replaceChildren(h("p", { class: "note" }, "Enter the sum that you want. The solver then finds a minimal set of bits that rules it out. Training would push those bits."));
  } else if (!fitsBits(wanted)) {
    panel.replaceChildren(h("p", {}, tag("core", "impossible"), ` No two digits add up to ${wanted}: sums are whole numbers from 0 to 18.`));
  } else if (!explanation.blame) {
    panel.replaceChildren(h("p", {}, tag("fits", "possible"), ` The bits as read allow ${wanted}.`));
  } else if (!explanation.blame.inputs.length) {
    panel.replaceChildren(h("p", {}, tag("core", "impossible"), ` No two digits add up to ${wanted}.`), constraints(explanation.blame, rules));
  } else {
    panel.replaceChildren(
      h("p", {}, tag("core", "blamed"), ` The sum cannot be ${wanted} unless one of these bits changes:`),
      list(explanation.blame.inputs.map((input) => `${input.name}: ${joined(input.columns.map((column) => `bit ${bitWeight(explanation, column)}`))}`)),
      constraints(explanation.blame, rules));
  }
}

function bitWeight(explanation, name) {
  const symbol = explanation.read.find(({ columns }) => columns.some((column) => column.name === name));
  return WEIGHTS[symbol.columns.findIndex((column) => column.name === name)];
}

function constraints(blame, rules) {
  return h("div", {}, h("p", { class: "note" }, "Rules involved:"), list(blame.constraints.map((part) => rules[part.index] ?? part.text)));
}
