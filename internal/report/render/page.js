// The page is complete without this script. It shows values where a reader points, hides networks and
// probes, sorts and copies tables, saves charts, and keeps choices in the address.
const byID = id => document.getElementById(id);
const seen = e => e.getClientRects().length;
const subjects = JSON.parse(byID('subjects').textContent); // n, networks, and p, probes: [number, name, title]; w, words
const all = (query, within = document) => [...within.querySelectorAll(query)];
const say = (s, what) => (subjects.w?.[s] ?? s).replace('%s', () => what); // in the page's language
const set = (e, attributes) => { for (const k in attributes) e.setAttribute(k, attributes[k]); return e; };
const make = (tag, properties, ...children) => {
	const e = Object.assign(document.createElement(tag), properties);
	e.append(...children);
	return e;
};
const tools = (...children) => make('span', {className: 'tools'}, ...children);
const button = (text, label, onclick) => set(make('button', {textContent: text, onclick}), {'aria-label': label});

// The choices: numbers of what is hidden, and by id how tables are sorted and charts zoomed.
const hidden = {n: new Set(), p: new Set()};
const views = {sort: new Map(), zoom: new Map()};
let at = ''; // id of the section last gone to

function save() {
	const q = new URLSearchParams();
	if (at) q.set('at', at);
	for (const k in hidden) for (const [i, name] of subjects[k]) hidden[k].has(i) && q.append(k, name);
	for (const k in views) for (const [id, v] of views[k]) v && q.append(k, id + ':' + v);
	history.replaceState(null, '', '#' + q);
}

function load() {
	const hash = location.hash.slice(1), q = new URLSearchParams(hash);
	at = hash.includes('=') ? q.get('at') : hash;
	for (const k in hidden) {
		hidden[k].clear();
		for (const [i, name] of subjects[k]) q.getAll(k).includes(name) && hidden[k].add(i);
	}
	for (const k in views) {
		const before = [...views[k].keys()];
		views[k] = new Map(q.getAll(k).map(s => s.split(/:(.*)/)));
		for (const id of [...before, ...views[k].keys()]) apply[k](byID(id));
	}
	filter();
	if (at) go();
}

function change(k, id, v) {
	views[k].set(id, v);
	apply[k](byID(id));
	filter();
	save();
}

function go() {
	const target = byID(at);
	for (let e = target; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
	target?.scrollIntoView();
}

// A rule hides what belongs to a hidden subject, and the rows of charts below it move up.
const rule = document.head.appendChild(make('style'));
function filter() {
	const away = [];
	for (const k in hidden) for (const i of hidden[k]) {
		away.push(`[data-${k}="${i}"]`);
		for (const th of all(`th[data-${k}="${i}"]`)) away.push(`#${CSS.escape(th.closest('table').id)} tr>:nth-child(${th.cellIndex + 1})`);
	}
	rule.textContent = away.length ? away + '{display:none!important}' : '';
	for (const svg of all('svg')) {
		if (svg.dataset.top) stack(svg);
		rove(svg);
	}
	for (const box of all('#filter input')) box.checked = !hidden[box.name].has(+box.value);
}

function stack(svg) {
	let up = 0;
	for (const row of all('g[data-h]', svg)) {
		set(row, {transform: `translate(0 ${-up})`});
		if (hidden.n.has(+row.dataset.n)) up += +row.dataset.h;
	}
	const {top, bottom} = svg.dataset, k = 1 - up / (bottom - top), box = svg.viewBox.baseVal;
	svg.dataset.high ||= box.height;
	box.height = svg.dataset.high - up;
	for (const g of all('[data-foot]', svg)) set(g, {transform: `translate(0 ${-up})`});
	for (const g of all('[data-stretch]', svg)) set(g, {transform: `translate(0 ${top * (1 - k)}) scale(1 ${k})`});
}

function filterMenu() {
	const panel = make('div'), menu = make('details', {id: 'filter'}, make('summary', {textContent: say('Filter')}), panel);
	for (const [k, legend] of [['n', 'Networks'], ['p', 'Probes']]) {
		if (subjects[k].length < 2) continue;
		panel.append(make('fieldset', {}, make('legend', {textContent: say(legend)}), ...subjects[k].map(([i, , title]) => {
			const onchange = e => { hidden[k][e.target.checked ? 'delete' : 'add'](i); filter(); save(); };
			return make('label', {}, make('input', {type: 'checkbox', name: k, value: i, checked: true, onchange}), ' ' + title);
		})));
	}
	if (!panel.firstChild) return;
	addEventListener('click', e => { menu.open &&= menu.contains(e.target); });
	menu.onkeydown = e => { menu.open &&= e.key !== 'Escape'; };
	document.querySelector('nav').append(menu);
}

// Marks of charts are groups with a text, or lines with a text for each of their points.
const tip = document.body.appendChild(set(make('div', {id: 'tip', hidden: true}), {role: 'status'}));
const cursor = set(document.createElementNS('http://www.w3.org/2000/svg', 'circle'), {class: 'cursor l f', r: 4.5});
const marks = svg => all('[data-k]', svg).filter(seen);
const texts = m => m.dataset.l?.split('|');
const points = m => (m.querySelector('path').getAttribute('d').match(/-?[\d.]+,-?[\d.]+/g) || []).slice(0, texts(m).length).map(p => p.split(',').map(Number));

function prepare(svg) {
	for (const title of all('title', svg)) { // the browser's own tooltip
		set(title.parentElement, {role: 'img', 'data-k': title.textContent, 'aria-label': title.textContent});
		title.remove();
		set(svg, {role: 'group'});
	}
}

// rove lets the tab key stop at one mark of a chart; arrows lead to the others.
function rove(svg, to = marks(svg)[0]) {
	for (const m of all('[data-k]', svg)) m.tabIndex = -1;
	if (to) to.tabIndex = 0;
}

function point(m, i, x, y) {
	const {x: names, w = '', u} = m.closest('svg').dataset, {l, from = 0} = m.dataset, box = m.getBoundingClientRect();
	let text = m.dataset.k;
	if (l) {
		m.dataset.i = i = Math.max(0, Math.min(i, texts(m).length - 1));
		const [cx, cy] = points(m)[i], on = new DOMPoint(cx, cy).matrixTransform(m.getScreenCTM());
		text += ': ' + (names ? w + names.split('|')[i + +from] + ': ' : '') + texts(m)[i] + (u ? ` (${u})` : '');
		m.append(set(cursor, {cx, cy}));
		({x, y} = on);
	} else cursor.remove();
	set(m, {'aria-label': text});
	tip.textContent = text;
	tip.hidden = false;
	x = (x ?? box.x + box.width / 2) - tip.offsetWidth / 2;
	y = (y ?? box.y) - tip.offsetHeight - 12;
	tip.style.left = Math.max(8, Math.min(x, innerWidth - tip.offsetWidth - 8)) + 'px';
	tip.style.top = (y < 0 ? y + tip.offsetHeight + 28 : y) + 'px';
}

function leave() {
	tip.hidden = true;
	cursor.remove();
}

function nearest(svg, x, y) {
	let best = 24, found = [];
	const near = (d, ...mark) => { if (d < best) [best, found] = [d, mark]; };
	for (const m of marks(svg)) {
		const p = new DOMPoint(x, y).matrixTransform(m.getScreenCTM().inverse());
		if (m.dataset.l) points(m).forEach(([px, py], i) => near(Math.hypot(px - p.x, py - p.y), m, i));
		else {
			const b = m.getBBox();
			near(Math.hypot(Math.max(b.x - p.x, 0, p.x - b.x - b.width), Math.max(b.y - p.y, 0, p.y - b.y - b.height)), m);
		}
	}
	return found;
}

addEventListener('pointermove', e => {
	const svg = e.target.closest?.('figure svg'), [m, i] = svg ? nearest(svg, e.clientX, e.clientY) : [];
	if (m) point(m, i, e.clientX, e.clientY);
	else if (!document.activeElement.matches('[data-k]')) leave();
});
addEventListener('focusin', e => { if (e.target.matches('[data-k]')) point(e.target, +e.target.dataset.i || 0); });
addEventListener('focusout', leave);
addEventListener('keydown', e => {
	if (e.key === 'Escape') leave();
	if (!e.target.matches?.('[data-k]')) return;
	const m = e.target, svg = m.closest('svg'), list = marks(svg), i = list.indexOf(m);
	const along = {ArrowLeft: -1, ArrowRight: 1}[e.key], line = along && m.dataset.l;
	const to = list[{ArrowUp: i - 1, ArrowDown: i + 1, Home: 0, End: list.length - 1}[e.key] ?? i + along];
	if (line || to) e.preventDefault();
	if (line) return point(m, +m.dataset.i + along);
	rove(svg, to || m);
	to?.focus();
});

// Charts are saved as they look; few programs know their rules.
const offer = (download, blob) => make('a', {href: URL.createObjectURL(blob), download}).click();

function drawing(svg) {
	const copy = svg.cloneNode(true), box = svg.viewBox.baseVal, w = box.width + 24, h = box.height + 24, shown = all('[class]', svg);
	all('[class]', copy).forEach((e, i) => {
		for (const k of ['fill', 'stroke', 'stroke-width', 'stroke-linecap', 'font-size', 'text-anchor']) set(e, {[k]: getComputedStyle(shown[i])[k]});
	});
	for (const i of hidden.n) for (const e of all(`[data-n="${i}"]`, copy)) e.remove();
	copy.insertAdjacentHTML('afterbegin', `<path d="M-12-12h${w}v${h}H-12" fill="${getComputedStyle(document.body).backgroundColor}"/>`);
	set(copy, {viewBox: [-12, -12, w, h], width: w, height: h, 'font-family': 'Helvetica,sans-serif'});
	return new Blob([new XMLSerializer().serializeToString(copy)], {type: 'image/svg+xml'});
}

async function picture(svg, name) {
	const image = make('img', {src: URL.createObjectURL(drawing(svg))});
	await image.decode();
	const scale = Math.min(3, 16384 / Math.max(image.width, image.height)); // browsers refuse larger canvases
	const width = Math.round(scale * image.width), height = Math.round(scale * image.height), canvas = make('canvas', {width, height});
	canvas.getContext('2d').drawImage(image, 0, 0, width, height);
	canvas.toBlob(b => offer(name, b));
}

// A distribution is zoomed to a range of shares: its lines move, and get other axes.
const ranges = ['', '0-90', '0-99', '90-100', '99-100'];
const whole = new WeakMap();
function zoom(figure) {
	const svg = figure?.querySelector('svg[data-plot]'), range = views.zoom.get(figure?.id) || '';
	if (!svg) return;
	if (!whole.has(svg)) whole.set(svg, svg.innerHTML);
	svg.innerHTML = whole.get(svg);
	figure.querySelector('select').value = range;
	const [from, to] = range.split('-').map(Number), names = svg.dataset.x.split('|'), shares = names.map(parseFloat);
	const a = shares.findIndex(s => s >= from), b = shares.findLastIndex(s => s <= to) + 1;
	const lines = all('[data-l]', svg).map(m => [m, points(m)]), inside = lines.flatMap(l => l[1].slice(a, b));
	if (!range || !inside.length) return;
	const [left, right, top, bottom, lo, hi] = svg.dataset.plot.split(' ').map(Number), xs = inside.map(p => p[0]), ys = inside.map(p => p[1]);
	const x0 = Math.min(...xs), x1 = Math.max(...xs), y0 = Math.min(...ys) - 3, y1 = Math.max(...ys) + 3;
	const x = v => (left + (v - x0) / (x1 - x0 || 1) * (right - left)).toFixed(1), y = v => (top + (v - y0) / (y1 - y0) * (bottom - top)).toFixed(1);
	for (const [m, p] of lines) {
		set(m.querySelector('path'), {d: p.slice(a, b).map(([px, py], i) => `${i ? 'L' : 'M'}${x(px)},${y(py)}`).join('')});
		set(m, {'data-l': texts(m).slice(a, b).join('|'), 'data-from': a});
	}
	for (const leader of all('[data-tag] path', svg)) leader.remove(); // names keep their places and colors
	const value = py => hi * (lo / hi) ** ((py - top) / (bottom - top)), place = v => y(top + Math.log(v / hi) / Math.log(lo / hi) * (bottom - top));
	const small = value(y1), large = value(y0), step = 10 ** Math.floor(Math.log10((large - small) / 3));
	const every = step * [1, 2, 5, 10].find(k => (large - small) / (k * step) <= 6), axes = svg.querySelector('[data-axes]');
	const text = (px, py, s, anchor) => `<text class="v u ${anchor}" x="${px}" y="${py}">${s}</text>`;
	let drawn = text(left, bottom + 14, names[a], 'c') + text(right, bottom + 14, names[Math.max(...lines.map(l => Math.min(b, l[1].length))) - 1], 'c');
	for (let v = Math.ceil(small / every) * every; v <= large; v += every) {
		drawn += `<path class="l g" d="M${left},${place(v)}H${right}"/>` + text(left - 6, +place(v) + 4, +v.toPrecision(6), 'e');
	}
	axes.innerHTML = drawn + axes.querySelector('[y="10"]').outerHTML;
}

function chartTools() {
	for (const svg of all('figure svg')) {
		const figure = svg.closest('figure'), what = figure.querySelector('figcaption').textContent;
		prepare(svg);
		figure.prepend(tools(
			svg.dataset.plot ? set(make('select', {onchange: e => change('zoom', figure.id, e.target.value)},
				...ranges.map(r => make('option', {value: r, textContent: r ? r.replace('-', '–') + ' %' : say('zoom')}))), {'aria-label': say('Zoom into %s', what)}) : '',
			button('SVG', say('Save %s as SVG', what), () => offer(figure.id + '.svg', drawing(svg))),
			button('PNG', say('Save %s as PNG', what), () => picture(svg, figure.id + '.png'))));
	}
}

// Tables
const orders = new WeakMap();
const textOf = c => (c.querySelector('summary') || c).innerText.replace(/\s+/g, ' ').trim();
const numberOf = s => parseFloat(s.replace(/^[~±<[\s]+/, ''));

function sort(table) {
	const body = table?.tBodies?.[0];
	if (!body) return;
	if (!orders.has(table)) orders.set(table, [...body.rows]);
	const [column, direction] = (views.sort.get(table.id) || '-1').split(':').map(Number), rows = [...orders.get(table)];
	if (rows[0]?.cells[column]) {
		const keys = new Map(rows.map(r => [r, r.cells[column].dataset.v || textOf(r.cells[column])]));
		const numbers = rows.every(r => isFinite(numberOf(keys.get(r) || '0')));
		rows.sort((a, b) => {
			const x = keys.get(a), y = keys.get(b);
			if (!x || !y) return !x - !y; // empty cells are last
			return direction * (numbers ? numberOf(x) - numberOf(y) : x.localeCompare(y, undefined, {numeric: true}));
		});
	}
	body.append(...rows);
	for (const b of all('.sort', table)) set(b.parentElement, {'aria-sort': b.parentElement.cellIndex !== column ? 'none' : direction > 0 ? 'ascending' : 'descending'});
}
const apply = {sort, zoom};

const grid = table => [...table.rows].filter(seen).map(r => [...r.cells].filter(seen).map(c => {
	const unit = c.querySelector('button small')?.innerText;
	return unit ? textOf(c).slice(0, -unit.length).trim() + ', ' + unit : textOf(c);
}));
const formats = {
	Markdown: table => grid(table).map((r, i) => `| ${r.map(c => c.replace(/[\\|`*_~]/g, '\\$&').replace(/</g, '&lt;')).join(' | ')} |\n` + (i ? '' : `|${' --- |'.repeat(r.length)}\n`)).join(''),
	CSV: table => grid(table).map(r => r.map(c => /[",]/.test(c) ? `"${c.replace(/"/g, '""')}"` : c) + '\n').join(''),
};

function copy(text, from) {
	const area = document.body.appendChild(make('textarea', {value: text}));
	area.select();
	document.execCommand('copy'); // works without the permission that the clipboard's own interface needs
	area.remove();
	from.focus();
	tip.textContent = say('copied');
	tip.hidden = false;
}

function tableTools() {
	for (const table of all('table')) {
		table.parentElement.before(tools(...Object.keys(formats).map(f => button(f, say('Copy table as %s', f), e => copy(formats[f](table), e.target)))));
		if (all('tbody th:first-child:empty', table).length) continue; // its rows belong together
		for (const th of table.tHead.rows[0].cells) {
			if (th.textContent) th.append(make('button', {className: 'sort', onclick: () => {
				const up = th.cellIndex + ':1', down = th.cellIndex + ':-1', now = views.sort.get(table.id);
				change('sort', table.id, now === up ? down : now === down ? '' : up);
			}}, ...th.childNodes));
		}
	}
}

for (const pre of all('pre')) pre.before(tools(button(say('Copy'), say('Copy the text below'), e => copy(pre.textContent, e.target))));
addEventListener('click', e => {
	const link = e.target.closest?.('a[href^="#"]');
	if (!link) return;
	e.preventDefault();
	at = link.hash.slice(1);
	go();
	save();
});
addEventListener('hashchange', load);
addEventListener('toggle', () => all('svg').forEach(svg => rove(svg)), true);
filterMenu();
chartTools();
tableTools();
load();
