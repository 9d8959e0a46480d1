// The order of what a search finds: pages for users first, how the library is built last.
// The scores beside `score` are Sphinx's own, which a scorer replaces as a whole.
var Scorer = {
  score: ([page, _title, _anchor, _what, score]) => {
    if (page === "tape") return score + 80;
    if (page === "gallery") return score + 50;
    if (/^(design|book)\/|^(testing|tape-in-an-evening)$/.test(page)) return score - 20;
    return page.includes("/") ? score : score + 20;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
