// Example theories, and example requirements.
export const REQUIREMENTS = {
  "Labels of a road scene": {
    logits: { "pedestrian": 1.6, "car": 1.1, "bus": -2.2, "moving": 0.7, "stopped": 0.4, "red": 1.4, "amber": -1.8, "green": 0.9, "traffic_light": -0.6, "crossing": 2.1 },
    given: [],
    text: `# one kind of object, doing one thing
at_most(1, pedestrian, car, bus, traffic_light)
not (moving and stopped)

# a traffic light has one colour
traffic_light implies exactly(1, red, amber, green)
red or amber or green implies traffic_light

# only pedestrians cross
crossing implies pedestrian and moving
`,
  },
  "Tags of a sentence (BIO)": {
    logits: { "tag1=O": 1.5, "tag1=B": 0.6, "tag1=I": -0.5, "tag2=O": -1.0, "tag2=B": 0.4, "tag2=I": 2.0, "tag3=O": 0.3, "tag3=B": -1.2, "tag3=I": 1.1, "tag4=O": 1.8, "tag4=B": -0.4, "tag4=I": 0.2, "tag5=O": -0.3, "tag5=B": 1.2, "tag5=I": 0.9 },
    given: [],
    text: `# O outside of a name, B begins it, I inside
tag1, tag2, tag3, tag4, tag5 in O/B/I

# an I follows a B or another I
matches(tag1, tag2, tag3, tag4, tag5, "(O|BI*)*")

# the sentence has one name
exactly(1, tag1 == "B", tag2 == "B", tag3 == "B", tag4 == "B", tag5 == "B")
`,
  },
  "Shifts of a day": {
    logits: { "ann=3": 1.1, "ann=4": 2.4, "ben=1": 1.6, "ben=2": 0.9, "ben=3": 0.5, "eve=0": 0.3, "eve=1": 1.2, "ann_opens": -1.3, "ben_opens": 0.8 },
    given: ["ann_opens"],
    text: `# hours of three people
ann, ben, eve in 0..4
output total in 6..8

total == ann + ben + eve
ann <= ben + 2
eve != 1    # no shift of one hour
exactly(1, ann_opens, ben_opens)
ben_opens implies ben >= 2
`,
  },
  "A shield for a lift": {
    logits: { "move=up": 2.2, "move=stop": 0.1, "move=down": -1.4, "at_top": -3.0, "at_bottom": 2.0, "door_open": 2.5, "overload": -1.5 },
    given: ["at_top", "at_bottom", "door_open", "overload"],
    text: `# a controller proposes a move; sensors are facts
move in up/stop/down
output alarm

not (at_top and at_bottom)
at_top implies move != "up"
at_bottom implies move != "down"
door_open or overload implies move == "stop"
alarm == (door_open and overload)
`,
  },
  "Clauses (DIMACS)": {
    logits: { "engine": 1.2, "turbo": 1.7, "hybrid": 1.5, "electric": -0.4, "battery": -1.1, "tank": 0.6 },
    given: [],
    text: `c options of a car, as a feature model in conjunctive normal form
c 1 engine
c 2 turbo
c 3 hybrid
c 4 electric
c 5 battery
c 6 tank
p cnf 6 7
1 4 0
-2 1 0
-3 1 0
-3 5 0
-4 5 0
-1 6 0
-2 -3 0
`,
  },
};

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
