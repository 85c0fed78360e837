// Texts of servers, agents and files, and the elements that show them.  A text is only ever
// the textContent of an element.
"use strict";

// Characters that change how others are read, or that no one sees, become \u{XXXX}.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{M}]|(?! )\p{Zs}|[\u115f\u1160\u3164\uffa0]/gu;

// Letters of other scripts that may be taken for those of ASCII.
const ALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}\p{Script=Coptic}\uff00-\uffef\u2100-\u214f\u{1d400}-\u{1d7ff}\u0131\u0251\u0261\u1d00-\u1dbf]/gu;

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
