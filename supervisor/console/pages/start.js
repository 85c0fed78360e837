// After all pages are defined.
"use strict";

document.getElementById("logout").addEventListener("click", () => logout().catch((error) => say(error.message)));
window.addEventListener("hashchange", () => {
	if (location.hash !== "#content")
		showPage();
});
login().then(() => {
	showLogin(true);
	return showPage();
}).catch((error) => say(error.message));
