// Amounts for people: the counterpart of roi/amounts.py, held to the same answers by a test.

const halfUp = (size, decimals) => {
  const scale = 10 ** decimals;
  return Math.floor(size * scale + 0.5) / scale;
};

const formats = []; // by decimals; each takes longer to make than a slider has for a move
const grouped = (size, decimals) =>
  (formats[decimals] ??= new Intl.NumberFormat("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })).format(size);

const signed = (value, text, prefix = "") => (value < 0 && /[1-9]/.test(text) ? "-" : "") + prefix + text;

const MONEY = [
  [999.5, 1, 0, ""], [999.5e3, 1e3, 0, "K"], [99.95e6, 1e6, 1, "M"],
  [999.5e6, 1e6, 0, "M"], [99.95e9, 1e9, 1, "B"], [Infinity, 1e9, 0, "B"],
];

function money(value) {
  if (!Number.isFinite(value)) throw new Error(`money is asked to show ${value}, which is not an amount`);
  const size = Math.abs(value);
  const [, unit, decimals, suffix] = MONEY.find(([limit]) => size < limit);
  return signed(value, grouped(halfUp(size / unit, decimals), decimals), "$") + suffix;
}

function figures(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  const places = Math.max(0, 3 - Math.floor(Math.log10(size)));
  let text = grouped(places < 16 ? halfUp(size, places) : size, Math.min(places, 15));
  if (text.includes(".")) text = text.replace(/0+$/, "").replace(/\.$/, "");
  return (value < 0 && text !== "0" ? "-" : "") + text;
}

function smallMoney(value) {
  const size = Math.abs(value);
  if (size < 1e-6) return "$0"; // what is left of a difference by rounding
  const text = size < 0.1 ? figures(size) : size === Math.floor(size) ? String(size) : halfUp(size, 2).toFixed(2);
  return (value < 0 ? "-" : "") + "$" + text;
}

let unitWords = {}; // unit -> how it is written after one and after any other number; set by the page's data

function quantity(value, unit) {
  if (Number.isNaN(value)) return "not defined";
  if (unit === "month" && value === Infinity) return "not within the horizon";
  const words = unitWords[unit][Math.abs(value) === 1 ? 0 : 1];
  if (unit.startsWith("USD")) return (Math.abs(value) >= 1000 ? money(value) : smallMoney(value)) + words.slice(3);
  if (unit.startsWith("%")) return `${figures(value * 100)} ${words}`;
  return unit === "1" ? figures(value) : `${figures(value)} ${words}`;
}

// A number as a file has it, without exponents in the range that people read; in a box with thousands set apart.
function plainNumber(value) {
  const rounded = Number(value.toPrecision(12)), text = String(rounded);
  return text.includes("e-") ? rounded.toFixed(20).replace(/0+$/, "") : text;
}

const boxed = (value) => plainNumber(value).replace(/^-?\d+(?=\.|$)/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));

const SUFFIXES = { k: 1e3, K: 1e3, m: 1e6, M: 1e6, B: 1e9, bn: 1e9, "%": 0.01 };
const AMOUNT =
  /^([-+\u2212]?)\s*(?:\$|USD\s*)?(\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d{1,3}(?:_\d{3})+(?:\.\d*)?|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)\s*(k|K|m|M|B|bn|%)?$/;

// The number in "1.2M", "150k", "$1,000", "-$0.4M", "12%" or "1e6"; an Error that says what to write for anything else.
function parseAmount(text) {
  const match = AMOUNT.exec(text.trim());
  if (!match) throw new Error(`'${text}' is not a number; write it like 1200000, 1.2M, 150k, $1,000 or 12%`);
  const value = Number(match[2].replace(/[,_]/g, "")) * (match[3] ? SUFFIXES[match[3]] : 1);
  if (!Number.isFinite(value)) throw new Error(`'${text}' is not a finite number`);
  return match[1] === "-" || match[1] === "\u2212" ? -value : value;
}
