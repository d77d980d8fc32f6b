// A board of handwritten hints: make one something else, and see it repaired.
import { ask, asker, find, h, list, listed, milliseconds, percent, rounded, source, tag } from "/static/ui.js";
import { fromText, noisy, overwritten, pad, show, SIDE, toText } from "/static/ink.js";

const NINE = [...Array(9).keys()];
const PAUSE = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 900;

export async function startSudoku(about) {
  const game = new Game(find("sudoku-board"), find("sudoku-answer"), find("sudoku-cell"));
  find("sudoku-source").textContent = (about.sudoku.own ? "" : "No run of visual Sudoku was given, so the digit reader of the addition page reads the hints. ") +
    source(about.sudoku.run, about.sudoku.images);
  find("sudoku-new").addEventListener("click", () => game.start());
  find("sudoku-restore").addEventListener("click", () => game.restore());
  find("sudoku-disturb").addEventListener("click", () => game.disturb());
  await game.start();
}

class Game {
  constructor(board, answer, panel) {
    Object.assign(this, { board, answer, panel, selected: null, told: null, later: 0, said: new Map() });
    this.cells = NINE.flatMap((row) => {
      const cells = NINE.map((column) => h("button", { type: "button", class: "cell", role: "gridcell", tabindex: "-1",
        click: () => this.select(9 * row + column), keydown: (event) => this.key(event, 9 * row + column) }));
      board.append(h("div", { class: "board-row", role: "row" }, cells));
      return cells;
    });
    this.send = asker("sudoku", answer, (told) => this.stage(told), 100);
  }

  async start() {
    const made = await ask("board", {});
    this.solution = made.solution;
    this.first = made.images.map((image, i) => image && { bytes: fromText(image), shown: made.shown[i], changed: false });
    this.hints = [...this.first];
    this.said.clear();
    this.ask(); // first: what was told is of the board before
    this.select(null);
  }

  restore() {
    this.hints = [...this.first];
    this.said.clear();
    this.ask();
    this.inspect();
  }

  /** Writes another digit over a hint that was not touched yet. */
  async disturb() {
    const free = this.hints.flatMap((hint, i) => (hint && !hint.changed ? [i] : []));
    if (!free.length) return;
    const place = free[Math.floor(free.length * Math.random())];
    const others = NINE.map((i) => i + 1).filter((digit) => digit !== this.hints[place].shown);
    const digit = others[Math.floor(8 * Math.random())];
    this.select(place);
    const { image } = await ask("digit", { digit });
    this.change(place, overwritten(this.first[place].bytes, fromText(image)), digit);
  }

  async put(place, digit) {
    this.change(place, fromText((await ask("digit", { digit })).image), digit);
  }

  change(place, bytes, shown) {
    this.hints[place] = { bytes, shown, changed: true };
    this.said.delete(place);
    this.ask();
    this.inspect();
  }

  ask() {
    clearTimeout(this.later);
    this.told = null;
    this.board.dataset.state = "asking";
    this.draw();
    this.send(() => ({ images: this.hints.map((hint) => hint && toText(hint.bytes)), said: Object.fromEntries(this.said) }));
  }

  /** Takes numbers for hints, whatever the network reads there; null takes one back. */
  say(numbers) {
    for (const [place, number] of numbers) {
      if (number === null) this.said.delete(place);
      else this.said.set(place, number);
    }
    this.ask();
    this.inspect();
  }

  /** Hints of the board, as it was made, that the network does not read as what they show. */
  misread() {
    return this.told.read.flatMap((read, i) => {
      const hint = this.hints[i];
      return read && !hint.changed && !this.said.has(i) && read.value !== hint.shown ? [i] : [];
    });
  }

  /** First what cannot hold, then the repair. */
  stage(told) {
    this.told = told;
    clearTimeout(this.later);
    const finish = () => {
      this.board.dataset.state = "done";
      this.draw();
      this.inspect();
    };
    this.tell();
    if (!told.conflict || !PAUSE) return finish();
    this.board.dataset.state = "conflict";
    this.draw();
    this.later = setTimeout(finish, PAUSE);
  }

  draw() {
    const done = this.board.dataset.state === "done";
    const told = this.told;
    const core = new Set(told?.conflict?.cells ?? []);
    const ruled = new Set((told?.conflict?.rules ?? []).flatMap((rule) => (rule.cells.length > 1 ? rule.cells : [])));
    const misread = new Set(done && told ? this.misread() : []);
    const over = new Map((done && told ? told.overruled : []).map((cell) => [cell.cell, cell]));
    this.cells.forEach((cell, i) => {
      const hint = this.hints[i];
      const names = ["cell", ruled.has(i) && "ruled", core.has(i) && "core", over.has(i) && "overruled",
        misread.has(i) && "misread", this.wrong(i, done) && "wrong", hint?.changed && "changed", this.selected === i && "selected"];
      cell.className = names.filter(Boolean).join(" ");
      cell.tabIndex = i === (this.selected ?? 0) ? 0 : -1;
      cell.setAttribute("aria-label", this.label(i, over.get(i), core.has(i)));
      cell.replaceChildren(...this.content(i, hint, over.get(i), done));
    });
  }

  /** Whether a cell does not hold the number of the board as it was made. */
  wrong(i, done) {
    return Boolean(done && this.told?.solution && this.told.solution[i] !== this.solution[i]);
  }

  content(i, hint, over, done) {
    if (!hint) {
      const number = done ? this.told?.solution?.[i] : null;
      return number ? [h("span", { class: "filled" }, String(number))] : [];
    }
    const canvas = h("canvas", { "aria-hidden": "true" });
    show(canvas, hint.bytes);
    return over ? [canvas, h("span", { class: "verdict" }, `${over.read ?? "?"}→${over.taken}`)] : [canvas];
  }

  label(i, over, inCore) {
    const where = `Row ${Math.floor(i / 9) + 1}, column ${(i % 9) + 1}: `;
    const wrong = this.wrong(i, this.board.dataset.state === "done") ? `, should be ${this.solution[i]}` : "";
    if (!this.hints[i]) return where + (this.told?.solution?.[i] ?? "empty") + wrong;
    const read = this.told?.read[i]?.value ?? "?";
    return where + `hint read as ${read}` + (over ? `, overruled, taken as ${over.taken}` : "") + (inCore ? ", cannot hold with the others" : "") + wrong;
  }

  tell() {
    const { told } = this;
    const time = h("p", { class: "note" }, `Read, explained and solved in ${milliseconds(told.ms)}.`);
    if (!told.solution) {
      this.answer.replaceChildren(h("h2", {}, "No repair found in time"), h("p", {}, "Too much was misread for the solver to repair it within its time limit. Restore some of the hints."),
        ...this.conflict(), time);
      return;
    }
    const wrong = told.solution.filter((number, i) => number !== this.solution[i]).length;
    const count = told.overruled.length;
    const hints = this.hints.filter(Boolean).length;
    this.answer.replaceChildren(
      h("h2", { id: "sudoku-status" }, wrong ? `Wrong board: ${wrong} of 81 cells` : count ? `Solved: ${count} of ${hints} hints overruled` : `Solved: all ${hints} hints fit`),
      h("p", {}, wrong ? tag("core", "another solution") : tag("fits", "the board's solution"), " ",
        wrong ? "This is the cheapest way to make the hints fit, but not the board that was made: the network was too certain of something wrong." : "Every cell is as it was meant."),
      ...this.readings(wrong),
      ...(count ? [h("p", {}, tag("over", "overruled"), ` ${count} of ${hints} hints overruled at a cost of ${rounded(told.cost)}${told.proved ? ", the least possible" : ", the best found in time"}:`),
        list(told.overruled.map((cell) => `${where(cell.cell)}: ${cell.read ?? "no number"} → ${cell.taken}`))] : []),
      ...this.conflict(), time);
  }

  /** Which hints were misread, what became of them, and a way to correct them. */
  readings(wrong) {
    const misread = this.misread();
    if (!misread.length) return [];
    const many = misread.length > 1;
    const lines = misread.map((i) => {
      const { value, certainty } = this.told.read[i];
      const taken = this.told.solution[i];
      const became = taken === this.hints[i].shown ? "corrected by the solver" : taken === value ? "not overruled" : `taken as ${taken}`;
      return `${where(i)} shows ${this.hints[i].shown}, read as ${value ?? "no number"} (${percent(certainty)} certain), ${became}`;
    });
    return [h("p", {}, tag("core", "misread"), ` ${misread.length} hint${many ? "s" : ""} of the board:`), list(lines),
      ...(wrong ? [h("p", {}, h("button", { type: "button", id: "sudoku-correct", click: () => this.say(misread.map((i) => [i, this.hints[i].shown])) },
        `Correct the misread hint${many ? "s" : ""}`))] : [])];
  }

  conflict() {
    const found = this.told.conflict;
    if (!found) return [];
    const hints = found.cells.length > 1 ? `These ${found.cells.length} hints cannot all hold as read` : "This hint cannot hold as read";
    return [h("p", {}, tag("core", "core"), ` ${hints}: ${listed(found.cells.map((cell) => `${this.told.read[cell].value ?? "no number"} in ${where(cell)}`))}. For:`),
      list([...new Set(found.rules.map((rule) => rule.label))])];
  }

  select(place) {
    this.selected = place;
    this.draw();
    this.inspect();
  }

  key(event, place) {
    const steps = { ArrowUp: -9, ArrowDown: 9, ArrowLeft: -1, ArrowRight: 1 };
    if (event.key in steps) {
      const next = place + steps[event.key];
      if (next < 0 || next > 80) return;
      this.select(next);
      this.cells[next].focus();
    } else if (/^[1-9]$/.test(event.key) && this.hints[place]) this.put(place, Number(event.key));
    else if ((event.key === "Delete" || event.key === "Backspace") && this.hints[place]) this.undo(place);
    else return;
    event.preventDefault();
  }

  undo(place) {
    this.hints[place] = this.first[place];
    this.said.delete(place);
    this.ask();
    this.inspect();
  }

  /** A choice of what a hint says: what the network reads, or a number that somebody gives. */
  sayer(place) {
    const choice = h("select", { change: () => this.say([[place, choice.value ? Number(choice.value) : null]]) },
      h("option", { value: "" }, "what the network reads"), NINE.map((n) => h("option", { value: String(n + 1) }, String(n + 1))));
    choice.value = this.said.get(place) ?? "";
    return choice;
  }

  /** The panel for the chosen cell. */
  inspect() {
    const i = this.selected;
    const hint = i === null ? null : this.hints[i];
    if (!hint) {
      this.panel.replaceChildren(h("p", { class: "note" }, "Choose a hint to change it: click, or arrow keys and 1 to 9."));
      return;
    }
    const read = this.told?.read[i];
    const sketch = pad("Draw another digit here", (bytes) => bytes && this.change(i, bytes, null));
    sketch.offer(hint.bytes);
    this.panel.replaceChildren(
      h("h2", {}, `Hint in ${where(i)}`),
      h("div", { class: "inspect" },
        h("div", {}, sketch.canvas, h("p", { class: "note" }, "Draw over it")),
        h("div", {},
          h("p", {}, this.said.has(i) ? "Corrected by you." : read ? ["Read as ", h("b", {}, String(read.value ?? "no number")), `, ${percent(read.certainty)} certain.`] : "…"),
          h("p", {}, h("label", {}, "It says ", this.sayer(i))),
          h("div", { class: "digits", role: "group", "aria-label": "Swap for a handwritten digit" },
            NINE.map((n) => h("button", { type: "button", click: () => this.put(i, n + 1), "aria-label": `Swap for a handwritten ${n + 1}` }, String(n + 1)))),
          h("div", { class: "buttons" },
            h("button", { type: "button", click: () => this.change(i, noisy(hint.bytes.length === SIDE * SIDE ? hint.bytes : this.first[i].bytes), hint.shown) }, "Add noise"),
            h("button", { type: "button", click: () => this.undo(i) }, "Restore")))));
  }
}

const where = (place) => `row ${Math.floor(place / 9) + 1}, column ${(place % 9) + 1}`;
