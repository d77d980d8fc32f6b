// Pictures are bytes, 0 for paper and 255 for ink; a canvas holds them as black with that opacity.
import { h } from "/static/ui.js";

export const SIDE = 28;
const DRAWN = 140;

export function fromText(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

export function toText(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Shows a square picture on a canvas of the same size. */
export function show(canvas, bytes) {
  const side = Math.sqrt(bytes.length);
  canvas.width = canvas.height = side;
  const image = new ImageData(side, side);
  bytes.forEach((byte, place) => (image.data[4 * place + 3] = byte));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** A picture with another of the same size written over it. */
export function overwritten(bytes, other) {
  return bytes.map((byte, place) => Math.max(0.6 * byte, other[place]));
}

/** The same picture with random specks and scratches. */
export function noisy(bytes) {
  const side = Math.sqrt(bytes.length);
  const result = Uint8Array.from(bytes);
  for (let i = 0; i < result.length; i++) {
    const drawn = Math.random();
    if (drawn < 0.12) result[i] = 0;
    else if (drawn > 0.86) result[i] = 100 + Math.floor(155 * Math.random());
  }
  for (let scratch = 0; scratch < 3; scratch++) {
    const row = Math.floor(side * Math.random());
    for (let column = 0; column < side; column++) {
      const place = ((row + Math.round(column * (Math.random() - 0.4))) % side) * side + column;
      if (place >= 0) result[place] = 230;
    }
  }
  return result;
}

/** A canvas to draw on with mouse, pen or finger. `changed` is called with the bytes, or null. */
export function pad(label, changed) {
  const canvas = h("canvas", { class: "pad", width: DRAWN, height: DRAWN, tabindex: "0", role: "img", "aria-label": label });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  let offered = null; // a picture that is shown as it came, until somebody draws
  let last = null;

  function clear() {
    offered = null;
    context.clearRect(0, 0, DRAWN, DRAWN);
  }
  function read() {
    if (offered) return offered;
    const { data } = context.getImageData(0, 0, DRAWN, DRAWN);
    const bytes = new Uint8Array(DRAWN * DRAWN);
    for (let i = 0; i < bytes.length; i++) bytes[i] = data[4 * i + 3];
    return bytes.some((byte) => byte > 24) ? bytes : null;
  }
  function place(event) {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) * DRAWN) / box.width, ((event.clientY - box.top) * DRAWN) / box.height];
  }
  function line(from, to) {
    context.lineWidth = 12;
    context.lineCap = context.lineJoin = "round";
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
  }
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    if (offered) clear();
    last = place(event);
    line(last, [last[0] + 0.01, last[1]]); // a dot
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    for (const part of event.getCoalescedEvents?.() ?? [event]) {
      const next = place(part);
      line(last, next);
      last = next;
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, () => {
      if (!last) return;
      last = null;
      changed(read());
    });
  }
  return {
    canvas,
    read,
    clear() {
      clear();
      changed(null);
    },
    /** Shows a picture without calling `changed`. */
    offer(bytes) {
      clear();
      const small = document.createElement("canvas");
      show(small, bytes);
      context.drawImage(small, 0, 0, DRAWN, DRAWN);
      offered = bytes;
    },
  };
}
