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
    Object.assign(this, { board, answer, panel, selected: null, told: null, later: 0 });
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
    this.select(null);
    this.ask();
  }

  restore() {
    this.hints = [...this.first];
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
    this.ask();
    this.inspect();
  }

  ask() {
    clearTimeout(this.later);
    this.told = null;
    this.board.dataset.state = "asking";
    this.draw();
    this.send(() => ({ images: this.hints.map((hint) => hint && toText(hint.bytes)) }));
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
    const over = new Map((done && told ? told.overruled : []).map((cell) => [cell.cell, cell]));
    this.cells.forEach((cell, i) => {
      const hint = this.hints[i];
      const names = ["cell", ruled.has(i) && "ruled", core.has(i) && "core", over.has(i) && "overruled",
        hint?.changed && "changed", this.selected === i && "selected"];
      cell.className = names.filter(Boolean).join(" ");
      cell.tabIndex = i === (this.selected ?? 0) ? 0 : -1;
      cell.setAttribute("aria-label", this.label(i, over.get(i), core.has(i)));
      cell.replaceChildren(...this.content(i, hint, over.get(i), done));
    });
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
    if (!this.hints[i]) return where + (this.told?.solution?.[i] ?? "empty");
    const read = this.told?.read[i]?.value ?? "?";
    return where + `hint read as ${read}` + (over ? `, overruled, taken as ${over.taken}` : "") + (inCore ? ", cannot hold with the others" : "");
  }

  tell() {
    const { told } = this;
    const time = h("p", { class: "note" }, `Read, explained and solved in ${milliseconds(told.ms)}.`);
    if (!told.solution) {
      this.answer.replaceChildren(h("h2", {}, "No repair found in time"), h("p", {}, "Too much was misread for the solver to repair it within its time limit. Restore some of the hints."),
        ...this.conflict(), time);
      return;
    }
    const right = told.solution.every((number, i) => number === this.solution[i]);
    const count = told.overruled.length;
    const hints = this.hints.filter(Boolean).length;
    this.answer.replaceChildren(
      h("h2", { id: "sudoku-status" }, count ? `Repaired: ${count} of ${hints} hints overruled` : `Solved: all ${hints} hints fit`),
      h("p", {}, right ? tag("fits", "the board's solution") : tag("core", "another solution"), " ",
        right ? "Every cell is as it was meant." : "This is the cheapest way to make the hints fit, but not what the board was made of: the network was too certain of something wrong."),
      ...(count ? [h("p", {}, tag("over", "overruled"), ` at a cost of ${rounded(told.cost)}${told.proved ? ", the least possible" : ", the best found in time"}:`),
        list(told.overruled.map((cell) => `${where(cell.cell)}: ${cell.read ?? "no number"} → ${cell.taken}`))] : []),
      ...this.conflict(), time);
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
    this.ask();
    this.inspect();
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
          h("p", {}, read ? ["Read as ", h("b", {}, String(read.value ?? "no number")), `, ${percent(read.certainty)} certain.`] : "…"),
          h("div", { class: "digits", role: "group", "aria-label": "Swap for a handwritten digit" },
            NINE.map((n) => h("button", { type: "button", click: () => this.put(i, n + 1), "aria-label": `Swap for a handwritten ${n + 1}` }, String(n + 1)))),
          h("div", { class: "buttons" },
            h("button", { type: "button", click: () => this.change(i, noisy(hint.bytes.length === SIDE * SIDE ? hint.bytes : this.first[i].bytes), hint.shown) }, "Add noise"),
            h("button", { type: "button", click: () => this.undo(i) }, "Restore")))));
  }
}

const where = (place) => `row ${Math.floor(place / 9) + 1}, column ${(place % 9) + 1}`;
