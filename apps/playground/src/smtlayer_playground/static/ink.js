// Images are bytes, 0 for paper and 255 for ink. On a canvas they are the opacity of black pixels.
import { h } from "/static/ui.js";

export const SIDE = 28; // side of an MNIST image in pixels
const DRAWN_SIDE = 140; // side of a drawing in pixels

/** Decodes base64. */
export function decode(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** Encodes bytes as base64. */
export function encode(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Shows a square image on a canvas of the same size. */
export function show(canvas, bytes) {
  const side = Math.sqrt(bytes.length);
  canvas.width = canvas.height = side;
  const image = new ImageData(side, side);
  bytes.forEach((byte, i) => (image.data[4 * i + 3] = byte));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** An image with another one of the same size written over it. */
export function overwritten(bytes, other) {
  return bytes.map((byte, i) => Math.max(0.6 * byte, other[i]));
}

/** Adds random specks and scratches to an image. */
export function noisy(bytes) {
  const side = Math.sqrt(bytes.length);
  const result = Uint8Array.from(bytes);
  for (let i = 0; i < result.length; i++) {
    const random = Math.random();
    if (random < 0.12) result[i] = 0;
    else if (random > 0.86) result[i] = 100 + Math.floor(155 * Math.random());
  }
  for (let scratch = 0; scratch < 3; scratch++) {
    const row = Math.floor(side * Math.random());
    for (let column = 0; column < side; column++) {
      const pixel = ((row + Math.round(column * (Math.random() - 0.4))) % side) * side + column;
      if (pixel >= 0) result[pixel] = 230;
    }
  }
  return result;
}

/** A canvas to draw on with mouse, pen or finger. Calls `changed` with the bytes, or null if it is blank. */
export function pad(label, changed) {
  const canvas = h("canvas", { class: "pad", width: DRAWN_SIDE, height: DRAWN_SIDE, tabindex: "0", role: "img", "aria-label": label });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  let offered = null; // an image that is shown unchanged until the user draws
  let last = null;

  function clear() {
    offered = null;
    context.clearRect(0, 0, DRAWN_SIDE, DRAWN_SIDE);
  }
  function read() {
    if (offered) return offered;
    const { data } = context.getImageData(0, 0, DRAWN_SIDE, DRAWN_SIDE);
    const bytes = new Uint8Array(DRAWN_SIDE * DRAWN_SIDE);
    for (let i = 0; i < bytes.length; i++) bytes[i] = data[4 * i + 3];
    return bytes.some((byte) => byte > 24) ? bytes : null;
  }
  function position(event) {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) * DRAWN_SIDE) / box.width, ((event.clientY - box.top) * DRAWN_SIDE) / box.height];
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
    last = position(event);
    line(last, [last[0] + 0.01, last[1]]); // a dot
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    for (const part of event.getCoalescedEvents?.() ?? [event]) {
      const next = position(part);
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
    /** Shows an image without calling `changed`. */
    offer(bytes) {
      clear();
      const small = document.createElement("canvas");
      show(small, bytes);
      context.drawImage(small, 0, 0, DRAWN_SIDE, DRAWN_SIDE);
      offered = bytes;
    },
  };
}
