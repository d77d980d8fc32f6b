// A Sudoku board with handwritten hints, which the user changes and the solver repairs.
import { debouncedPost, find, h, joined, list, milliseconds, percent, post, rounded, source, tag } from "/static/ui.js";
import { decode, encode, noisy, overwritten, pad, show, SIDE } from "/static/ink.js";

const NINE = [...Array(9).keys()];
const PAUSE_MS = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 900;

const cellName = (i) => `row ${Math.floor(i / 9) + 1}, column ${(i % 9) + 1}`;

export async function startSudoku(about) {
  const game = new Game(find("sudoku-board"), find("sudoku-answer"), find("sudoku-cell"));
  find("sudoku-source").textContent = source(about.sudoku.run, about.sudoku.images);
  find("sudoku-new").addEventListener("click", () => game.start());
  find("sudoku-restore").addEventListener("click", () => game.restoreAll());
  find("sudoku-disturb").addEventListener("click", () => game.disturb());
  await game.start();
}

class Game {
  constructor(board, resultPanel, cellPanel) {
    Object.assign(this, { board, resultPanel, cellPanel, selected: null, answer: null, timer: 0 });
    this.corrections = new Map(); // numbers that the user gave for hints, by cell
    this.cells = NINE.flatMap((row) => {
      const cells = NINE.map((column) => h("button", { type: "button", class: "cell", role: "gridcell", tabindex: "-1",
        click: () => this.select(9 * row + column), keydown: (event) => this.pressKey(event, 9 * row + column) }));
      board.append(h("div", { class: "board-row", role: "row" }, cells));
      return cells;
    });
    this.send = debouncedPost("sudoku", resultPanel, (answer) => this.receive(answer), 100);
  }

  async start() {
    const { images, shown, solution } = await post("board", {});
    this.solution = solution;
    this.original = images.map((image, i) => image && { bytes: decode(image), shown: shown[i], changed: false });
    this.selected = null;
    this.restoreAll();
  }

  restoreAll() {
    this.hints = [...this.original];
    this.corrections.clear();
    this.update();
  }

  restore(i) {
    this.hints[i] = this.original[i];
    this.corrections.delete(i);
    this.update();
  }

  /** Writes another digit over a random hint that has not been changed. */
  async disturb() {
    const unchanged = this.hints.flatMap((hint, i) => (hint && !hint.changed ? [i] : []));
    if (!unchanged.length) return;
    const i = unchanged[Math.floor(unchanged.length * Math.random())];
    const others = NINE.map((n) => n + 1).filter((digit) => digit !== this.hints[i].shown);
    const digit = others[Math.floor(8 * Math.random())];
    this.select(i);
    const { image } = await post("digit", { digit });
    this.change(i, overwritten(this.original[i].bytes, decode(image)), digit);
  }

  async replace(i, digit) {
    this.change(i, decode((await post("digit", { digit })).image), digit);
  }

  change(i, bytes, shown) {
    this.hints[i] = { bytes, shown, changed: true };
    this.corrections.delete(i);
    this.update();
  }

  /** Sets the numbers of hints, whatever the network reads; null removes a correction. */
  correct(numbers) {
    for (const [i, number] of numbers) {
      if (number === null) this.corrections.delete(i);
      else this.corrections.set(i, number);
    }
    this.update();
  }

  /** Solves the board again. */
  update() {
    clearTimeout(this.timer);
    this.answer = null;
    this.board.dataset.state = "solving";
    this.draw();
    this.send(() => ({ images: this.hints.map((hint) => hint && encode(hint.bytes)), corrections: Object.fromEntries(this.corrections) }));
    this.inspect();
  }

  /** Shows the conflict first, then the repair. */
  receive(answer) {
    this.answer = answer;
    clearTimeout(this.timer);
    const finish = () => {
      this.board.dataset.state = "done";
      this.draw();
      this.inspect();
    };
    this.showResult();
    if (!answer.conflict || !PAUSE_MS) return finish();
    this.board.dataset.state = "conflict";
    this.draw();
    this.timer = setTimeout(finish, PAUSE_MS);
  }

  /** Unchanged hints that the network reads as another number. */
  misread() {
    return this.answer.read.flatMap((read, i) => {
      const hint = this.hints[i];
      return read && !hint.changed && !this.corrections.has(i) && read.value !== hint.shown ? [i] : [];
    });
  }

  draw() {
    const { answer } = this;
    const done = this.board.dataset.state === "done";
    const core = new Set(answer?.conflict?.cells ?? []);
    const ruled = new Set((answer?.conflict?.rules ?? []).flatMap((rule) => (rule.cells.length > 1 ? rule.cells : [])));
    const misread = new Set(done && answer ? this.misread() : []);
    const overruled = new Map((done && answer ? answer.overruled : []).map((change) => [change.cell, change]));
    this.cells.forEach((cell, i) => {
      const hint = this.hints[i];
      const names = ["cell", ruled.has(i) && "ruled", core.has(i) && "core", overruled.has(i) && "overruled",
        misread.has(i) && "misread", this.isWrong(i, done) && "wrong", hint?.changed && "changed", this.selected === i && "selected"];
      cell.className = names.filter(Boolean).join(" ");
      cell.tabIndex = i === (this.selected ?? 0) ? 0 : -1;
      cell.setAttribute("aria-label", this.label(i, overruled.get(i), core.has(i), done));
      cell.replaceChildren(...this.content(i, hint, overruled.get(i), done));
    });
  }

  /** Whether a cell differs from the solution of the original board. */
  isWrong(i, done) {
    return Boolean(done && this.answer?.solution && this.answer.solution[i] !== this.solution[i]);
  }

  content(i, hint, overruled, done) {
    if (!hint) {
      const number = done ? this.answer?.solution?.[i] : null;
      return number ? [h("span", { class: "filled" }, String(number))] : [];
    }
    const canvas = h("canvas", { "aria-hidden": "true" });
    show(canvas, hint.bytes);
    return overruled ? [canvas, h("span", { class: "verdict" }, `${overruled.read ?? "?"}→${overruled.taken}`)] : [canvas];
  }

  label(i, overruled, inCore, done) {
    const value = this.hints[i] ? `hint read as ${this.answer?.read[i]?.value ?? "?"}` : (this.answer?.solution?.[i] ?? "empty");
    return `Row ${Math.floor(i / 9) + 1}, column ${(i % 9) + 1}: ${value}` + (overruled ? `, overruled, changed to ${overruled.taken}` : "") +
      (inCore ? ", conflicts with other hints" : "") + (this.isWrong(i, done) ? `, should be ${this.solution[i]}` : "");
  }

  showResult() {
    const { solution, overruled, cost, proved, ms } = this.answer;
    const time = h("p", { class: "note" }, `Read, explained and solved in ${milliseconds(ms)}.`);
    if (!solution) {
      this.resultPanel.replaceChildren(h("h2", {}, "No repair found in time"), h("p", {}, "The solver could not repair this many misread hints within its time limit. Restore some of them."),
        ...this.conflict(), time);
      return;
    }
    const wrong = solution.filter((number, i) => number !== this.solution[i]).length;
    const count = overruled.length;
    const hints = this.hints.filter(Boolean).length;
    this.resultPanel.replaceChildren(
      h("h2", { id: "sudoku-status" }, wrong ? `Wrong board: ${wrong} of 81 cells` : count ? `Solved: ${count} of ${hints} hints overruled` : `Solved: all ${hints} hints are consistent`),
      h("p", {}, ...(wrong ? [tag("core", "another solution"), " This is the cheapest repair, but not the original board: the network was too confident in a wrong reading."]
        : [tag("fits", "correct"), " Every cell matches the original board."])),
      ...this.misreadings(wrong),
      ...(count ? [h("p", {}, tag("over", "overruled"), ` ${count} of ${hints} hints, at a cost of ${rounded(cost)}${proved ? " (the minimum)" : " (the best found in time)"}:`),
        list(overruled.map((change) => `${cellName(change.cell)}: ${change.read ?? "no number"} → ${change.taken}`))] : []),
      ...this.conflict(), time);
  }

  /** Lists the misread hints and what the solver did about them, with a button to correct them. */
  misreadings(wrong) {
    const misread = this.misread();
    if (!misread.length) return [];
    const s = misread.length > 1 ? "s" : "";
    const lines = misread.map((i) => {
      const { value, certainty } = this.answer.read[i];
      const taken = this.answer.solution[i];
      const outcome = taken === this.hints[i].shown ? "corrected by the solver" : taken === value ? "not overruled" : `changed to ${taken}`;
      return `${cellName(i)} shows ${this.hints[i].shown}, read as ${value ?? "no number"} (${percent(certainty)} certain), ${outcome}`;
    });
    const button = () => h("button", { type: "button", id: "sudoku-correct", click: () => this.correct(misread.map((i) => [i, this.hints[i].shown])) },
      `Correct the misread hint${s}`);
    return [h("p", {}, tag("core", "misread"), ` ${misread.length} hint${s}:`), list(lines), ...(wrong ? [h("p", {}, button())] : [])];
  }

  conflict() {
    const { conflict, read } = this.answer;
    if (!conflict) return [];
    const hints = joined(conflict.cells.map((cell) => `${read[cell].value ?? "no number"} in ${cellName(cell)}`));
    return [h("p", {}, tag("core", "core"), conflict.cells.length > 1 ? ` These ${conflict.cells.length} hints contradict each other: ${hints}, because:` : ` This hint is impossible: ${hints}, because:`),
      list([...new Set(conflict.rules.map((rule) => rule.label))])];
  }

  select(i) {
    this.selected = i;
    this.draw();
    this.inspect();
  }

  pressKey(event, i) {
    const steps = { ArrowUp: -9, ArrowDown: 9, ArrowLeft: -1, ArrowRight: 1 };
    if (event.key in steps) {
      const next = i + steps[event.key];
      if (next < 0 || next > 80) return;
      this.select(next);
      this.cells[next].focus();
    } else if (/^[1-9]$/.test(event.key) && this.hints[i]) this.replace(i, Number(event.key));
    else if ((event.key === "Delete" || event.key === "Backspace") && this.hints[i]) this.restore(i);
    else return;
    event.preventDefault();
  }

  /** A choice between the network's reading and a number from 1 to 9. */
  numberChoice(i) {
    const choice = h("select", { change: () => this.correct([[i, choice.value ? Number(choice.value) : null]]) },
      h("option", { value: "" }, "as read by the network"), NINE.map((n) => h("option", { value: String(n + 1) }, String(n + 1))));
    choice.value = this.corrections.get(i) ?? "";
    return choice;
  }

  /** Shows the panel of the selected hint. */
  inspect() {
    const i = this.selected;
    const hint = i === null ? null : this.hints[i];
    if (!hint) {
      this.cellPanel.replaceChildren(h("p", { class: "note" }, "Select a hint to change it: click it, or use the arrow keys and 1 to 9."));
      return;
    }
    const read = this.answer?.read[i];
    const drawing = pad("Draw another digit here", (bytes) => bytes && this.change(i, bytes, null));
    drawing.offer(hint.bytes);
    this.cellPanel.replaceChildren(
      h("h2", {}, `Hint in ${cellName(i)}`),
      h("div", { class: "inspect" },
        h("div", {}, drawing.canvas, h("p", { class: "note" }, "Draw here")),
        h("div", {},
          h("p", {}, this.corrections.has(i) ? "Corrected by you." : read ? ["Read as ", h("b", {}, String(read.value ?? "no number")), `, ${percent(read.certainty)} certain.`] : "…"),
          h("p", {}, h("label", {}, "Value ", this.numberChoice(i))),
          h("div", { class: "digits", role: "group", "aria-label": "Replace by a handwritten digit" },
            NINE.map((n) => h("button", { type: "button", click: () => this.replace(i, n + 1), "aria-label": `Replace by a handwritten ${n + 1}` }, String(n + 1)))),
          h("div", { class: "buttons" },
            h("button", { type: "button", click: () => this.change(i, noisy(hint.bytes.length === SIDE * SIDE ? hint.bytes : this.original[i].bytes), hint.shown) }, "Add noise"),
            h("button", { type: "button", click: () => this.restore(i) }, "Restore")))));
  }
}
