// After the last day: the comparison with scripts takes a moment to play, and earlier days come when they are unfolded.

import { fetchUnfoldedDays } from "./days.js";
import { getText } from "./post.js";

const place = document.getElementById("comparison");
const html = await getText("comparison/").catch(() => null);
if (html === null) place.textContent = "The comparison could not be made just now. Load the page again to try once more.";
else place.innerHTML = html; // rendered and escaped by the server

fetchUnfoldedDays();
