// Texts of servers, agents and files, and the elements that show them.  A text is only ever
// the textContent of an element.
"use strict";

// Characters that change how others are read, or that no one sees, become \u{XXXX}.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{M}]|(?! )\p{Zs}|[\u115f\u1160\u3164\uffa0]/gu;

// What may be taken for ASCII: letters of other scripts, copies of ASCII's, and signs.  All of
// shim/host/codepoint.c is here, and more.
const ALIKE = new RegExp("[" +
    "\\p{Script=Cyrillic}\\p{Script=Greek}\\p{Script=Armenian}\\p{Script=Cherokee}\\p{Script=Lisu}\\p{Script=Coptic}" +
    "\\u0131\\u017f\\u01c0-\\u01c3\\u0251\\u0261\\u0269\\u026a\\u028b\\u02b9-\\u02bf\\u1d00-\\u1dbf" +
    "\\u2010-\\u2015\\u2018-\\u201f\\u2024\\u2032-\\u203a\\u2044\\u2100-\\u218f\\u2212\\u2215\\u2223\\u2236" +
    "\\u2329\\u232a\\u249c-\\u24e9\\u27e8\\u27e9\\u2800\\u29f8\\u3008\\u3009\\ua731\\ua789" +
    "\\ufb00-\\ufb06\\ufe50-\\ufe6f\\uff00-\\uffef" +
    "\\u{1d400}-\\u{1d7ff}\\u{1f130}-\\u{1f189}\\u{1f1e6}-\\u{1f1ff}]", "gu");

function escape(character) {
	return "\\u{" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "}";
}

function inert(text) {
	return String(text).replace(HIDDEN, escape).replace(ALIKE, escape);
}

// An element with attributes, and with texts and elements inside of it.
function element(name, attributes, ...children) {
	const made = document.createElement(name);

	for (const [key, value] of Object.entries(attributes || {}))
		if (value !== false && value !== null && value !== undefined)
			made.setAttribute(key, value === true ? "" : value);
	for (const child of children)
		if (child instanceof Node)
			made.append(child);
		else if (child !== null && child !== undefined)
			made.append(document.createTextNode(inert(child)));
	return made;
}

function button(label, action, attributes) {
	const made = element("button", {type: "button", ...attributes}, label);

	made.addEventListener("click", action);
	return made;
}

// A word with the meaning that its class has; never a colour alone.
function badge(text, kind) {
	return element("span", {class: "badge " + kind}, text);
}

function table(caption, head, rows) {
	return element("div", {class: "scroll", role: "region", tabindex: "0", "aria-label": caption},
	    element("table", {}, element("caption", {}, caption),
	        element("thead", {}, element("tr", {}, ...head.map((h) => element("th", {scope: "col"}, h)))),
	        element("tbody", {}, ...rows.map((r) => element("tr", {}, ...r.map((c) => element("td", {}, c)))))));
}
