// Example theories.
export const EXAMPLES = {
  "Exclusive or": {
    inputs: "a, b",
    outputs: "y",
    signs: { a: 1, b: -1 },
    wanted: {},
    text: `; y holds if exactly one of a and b does
(declare-const a Bool)
(declare-const b Bool)
(declare-const y Bool)
(assert (! (= y (xor a b)) :named odd))
`,
  },
  "Adder": {
    inputs: "a, b",
    outputs: "total",
    signs: { "a[3]": 1, "a[2]": 1, "a[1]": -1, "a[0]": 1, "b[3]": -1, "b[2]": 1, "b[1]": -1, "b[0]": 1 },
    wanted: {},
    text: `; two decimal digits in 4 bits each, and their sum in 5
(declare-const a (_ BitVec 4))
(declare-const b (_ BitVec 4))
(declare-const total (_ BitVec 5))
(assert (! (= total (bvadd (concat #b0 a) (concat #b0 b)))
  :named adds))
(assert (! (bvule a #x9) :named a-is-a-digit))
(assert (! (bvule b #x9) :named b-is-a-digit))
`,
  },
  "Coins": {
    inputs: "seen in 1..20",
    outputs: "fives in 0..4, ones in 0..4",
    signs: {},
    wanted: {},
    text: `; a price paid in coins of 5 and 1, with as few ones as possible
(declare-const seen Int)
(declare-const fives Int)
(declare-const ones Int)
(assert (! (= seen (+ (* 5 fives) ones)) :named price))
(assert (! (<= 0 ones 4) :named few-ones))
(assert (! (>= fives 0) :named no-debt))
`,
  },
  "Who feeds whom": {
    inputs: "cat_barks, dog_barks, cat_awake, dog_awake",
    outputs: "cat_fed, dog_fed",
    signs: { cat_barks: 1, dog_barks: -1, cat_awake: -1, dog_awake: 1 },
    wanted: {},
    text: `; what a camera and a microphone report about two animals
(declare-const cat_barks Bool)
(declare-const dog_barks Bool)
(declare-const cat_awake Bool)
(declare-const dog_awake Bool)
(declare-const cat_fed Bool)
(declare-const dog_fed Bool)
(assert (! (not cat_barks) :named cats-do-not-bark))
(assert (! (=> dog_barks dog_awake) :named sleeping-dogs-lie))
(assert (! (= cat_fed cat_awake) :named feed-the-awake-cat))
(assert (! (= dog_fed (and dog_awake (not cat_fed))) :named one-at-a-time))
`,
  },
};
