#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Cockpit page in a real browser, through Cockpit's own server and bridge: what it shows of the
daemon, what it changes there, and what it says if it may not. Skipped without Cockpit or Chromium."""
import json
import os

from cockpittest import Case, Moving, WithLogin, skip_without
from holdstest import HOLD, request
from idledtest import NOBODY, main, needs_root, options, wait_until
from polkittest import CHALLENGE, YES, WithPolkit

FRAME = '/cockpit/@localhost/idled/'
HOSTILE = '<img src=x onerror="window.hacked = 1">&amp;</b><script>window.hacked = 2</script>'
PROFILES = {name: '[Profile]\nSummary=%s\n' % summary for name, summary in (
    ('power-saver', 'Saves as much as it can'), ('performance', 'Reacts at once'))}


class Shown(Case):
    """The page of a daemon that runs."""

    MORE = ()  # of the daemon's command line

    def setUp(self):
        super().setUp()
        for name, text in PROFILES.items():
            self.write_config('profiles/%s.conf' % name, text)
        self.start(*self.MORE)
        self.wait_subscribed()
        self.prepare()
        self.show()
        self.wait_state('running')

    def prepare(self):
        """What happens before the page is opened."""

    def tearDown(self):
        self.assert_no_faults()

    def hold(self, **values):
        """A hold of this process: its path, and the descriptor, which is closed at the end."""
        path, descriptor = self.call('Hold', request(**values))
        descriptor = descriptor.take()
        self.addCleanup(lambda: os.close(descriptor))
        return str(path)

    def states(self):
        return self.page.evaluate(
            '[...document.querySelectorAll(".cpu")].map(node => node.dataset.state)')


class Cpus(Shown):
    def prepare(self):
        moving = Moving(self.root, lambda cpu: 0.5 if cpu == 1 else 0)
        self.addCleanup(moving.stop)

    def test_park_and_unpark(self):
        self.assertEqual(self.states(), ['active'] * 8)
        self.park_cpus('6-7')
        self.wait_page(lambda: self.states() == ['active'] * 6 + ['parked'] * 2, 'parked marks')
        self.assertIn('parked', self.attribute('#cpu-7', 'aria-label'))
        self.wait_text('.figures', '2 of 8')
        self.wait_text('#package-0', '2 of 8')
        self.set_idle_mask('')
        self.wait_page(lambda: self.states() == ['active'] * 8, 'active again')

    def test_residency(self):
        self.wait_page(lambda: (self.find('#cpu-1 .busy', 'node.offsetWidth') or 0) >
                       self.find('#cpu-1 .bar', 'node.offsetWidth') / 4, 'CPU 1 busy')
        self.wait_page(lambda: (self.find('#cpu-0 .depth-5', 'node.offsetWidth') or 0) >
                       self.find('#cpu-0 .bar', 'node.offsetWidth') / 2, 'CPU 0 asleep')
        self.wait_text('#cpu-details', 'C10')

    def test_details_say_why(self):
        """The page reads the reason again when the CPU is parked."""
        self.click('#cpu-7')
        self.set_idle_mask('6-7')
        self.assertIn('CPU 7', self.text('#cpu-details'))
        self.wait_text('#cpu-details', self.get('Reason', '/org/idled1/cpu/7', 'org.idled1.Cpu'))
        self.assertEqual(self.attribute('#cpu-7', 'aria-selected'), 'true')

    def test_keyboard(self):
        self.find('#cpu-0', '(node.focus(), 1)')
        for key in ('ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowRight'):
            self.page.press(key)
        self.assertEqual(self.page.evaluate('document.activeElement.id'), 'cpu-2')
        self.page.press('End')
        self.assertEqual(self.page.evaluate('document.activeElement.id'), 'cpu-7')
        self.assertEqual(self.count('.cpu[tabindex="0"]'), 1)

    def test_limits(self):
        self.hold(latency_us=50, cpus='2-3')
        self.wait_page(lambda: self.count('.cpu[data-limited]') == 2, 'two limited CPUs')
        self.click('#cpu-2')
        self.wait_text('#cpu-details', 'at most 50 µs')

    def test_power(self):
        self.wait_text('#power', 'package-0')
        self.wait_page(lambda: any(' W' in value and value != '0.0 W' for value in
                                   self.text('#power').split('\n')), 'watts')

    def test_policies_say_why(self):
        self.set_idle_mask('6-7')
        self.wait_text('[data-policy=userspace]', self.get(
            'Reason', '/org/idled1/policy/userspace', 'org.idled1.Policy'))


class Waits(Shown):
    def test_who_waits(self):
        self.wait_text('#count-waits', 'Count for 5 s')
        self.assertEqual(self.count('#waits tr:not(thead tr)'), 0)
        self.click('#count-waits')
        self.wait_text('#count-waits', 'Counting')
        self.assertIsNotNone(self.attribute('#count-waits', 'disabled'))
        self.wait_text('#count-waits', 'Count for 5 s')
        if 'BPF' in self.text('#errors'):
            self.skipTest(self.text('#errors'))
        rows = self.page.evaluate('[...document.querySelectorAll("#waits tbody tr")].map('
                                  'row => [...row.children].map(cell => cell.innerText))')
        self.assertTrue(rows, self.text('#waits'))
        for unit, rate, p50, p99, longest, *shares in rows:
            self.assertTrue(unit and float(rate.replace(',', '')) > 0, rows)
            for time in p50, p99, longest:
                self.assertRegex(time, r'^[\d,]+ (µs|ms|s)')
            for share in shares:
                self.assertTrue(0 <= float(share.split()[0]) <= 100, rows)


class Profiles(Shown):
    def test_switch(self):
        self.wait_text('[data-profile=power-saver]', 'Saves as much')
        self.click('[data-profile=power-saver] button')
        wait_until(lambda: self.get('ChosenProfile') == 'power-saver', 'the daemon knows')
        self.wait_page(lambda: self.attribute('[data-profile=power-saver]', 'aria-current') ==
                       'true', 'the profile in effect')
        self.assertIsNone(self.attribute('[data-profile=balanced]', 'aria-current'))
        self.click('#profile-auto')
        wait_until(lambda: self.get('ChosenProfile') == '', 'nothing chosen')
        self.wait_page(lambda: self.attribute('[data-profile=balanced]', 'aria-current') == 'true',
                       'balanced again')

    def test_of_another_client(self):
        self.call('SetProfile', 'performance')
        self.wait_text('[data-profile=performance]', 'in effect')

    def test_gone_meanwhile(self):
        """The daemon's message, and nothing changes."""
        self.set_option('userspace', 'IdleMask', '7')
        self.write_config('profiles/contradicts.conf', '[userspace]\nIdleMask=6\n')
        self.call('Reload')
        self.wait_text('[data-profile=contradicts]', 'contradicts')
        os.unlink(os.path.join(self.config, 'profiles/contradicts.conf'))
        self.page.evaluate(
            'window.former = document.querySelector("[data-profile=contradicts] button")')
        self.call('Reload')
        self.wait_page(lambda: not self.count('[data-profile=contradicts]'), 'its end')
        self.page.evaluate('window.former.click()')
        self.wait_text('#errors', 'contradicts')
        self.assertEqual(self.get('ChosenProfile'), '')
        self.click('#errors button')
        self.assertEqual(self.text('#errors'), '')


class Holds(Shown):
    def test_comes_and_is_released(self):
        path = self.hold(latency_us=50, cpus='2-3', reason='a synthesizer')
        self.wait_text('[data-hold="%s"]' % path, 'a synthesizer')
        shown = self.text('[data-hold="%s"]' % path)
        for part in ('50 µs', '2-3', str(os.getpid())):
            self.assertIn(part, shown)
        self.click('[data-hold="%s"] button' % path)
        wait_until(lambda: not self.get('Holds'), 'the hold released')
        self.wait_page(lambda: not self.count('[data-hold]'), 'its end')

    def test_ends_by_itself(self):
        path, descriptor = self.call('Hold', request(min_cores=3))
        self.wait_text('[data-hold="%s"]' % path, '3 active cores')
        os.close(descriptor.take())
        self.wait_page(lambda: not self.count('[data-hold]'), 'its end')

    def test_hostile_words_are_text(self):
        path = self.hold(min_cores=1, reason=HOSTILE)
        self.assertIn('<img src=x onerror', self.get('Reason', path, HOLD))
        self.pause(HOSTILE, 3600 * 1000 * 1000)
        self.wait_page(lambda: self.count('[data-hold]'), 'the hold')
        self.assertEqual(self.find('[data-hold] bdi', 'node.textContent'),
                         self.get('Reason', path, HOLD))
        self.wait_text('#notices', self.get('Pauses')[0]['reason'])
        self.assertEqual(self.count('img, script:not([src]), [onerror]'), 0)
        self.assertIsNone(self.page.evaluate('window.hacked === undefined ? null : window.hacked'))


DWELL = 'option-ondemand-Dwell'


class Options(Shown):
    def setUp(self):
        super().setUp()
        self.wait_page(lambda: self.count('#' + DWELL), 'options')
        self.click('[data-section=ondemand] summary')

    def value(self, selector='#' + DWELL):
        return self.find(selector, 'node.value')

    def set(self, text):
        self.fill('#' + DWELL, text)
        self.page.press('Enter', code='Enter', windowsVirtualKeyCode=13, text='\r')

    def test_every_option_has_a_labelled_field(self):
        self.assertEqual(self.count('.option'), len(self.call('GetSettings')))
        self.assertEqual(self.count('.option input'), self.page.evaluate(
            '[...document.querySelectorAll(".option input")].filter(n => n.labels.length).length'))

    def test_set_and_reset(self):
        self.set('30s')
        self.wait_text('[data-option=%s] .source' % DWELL, 'idlectl set --save ondemand Dwell=30s')
        now = self.get('Options', '/org/idled1/policy/ondemand', 'org.idled1.Policy')
        self.assertEqual(now['Dwell'], '30s')
        self.wait_text('[data-section=ondemand] summary', '1 set')
        self.click('[data-option=%s] .secondary' % DWELL)
        self.wait_page(lambda: self.value() == '5s', 'the default')
        self.assertEqual(self.text('[data-option=%s] .source' % DWELL), '')

    def test_bad_value(self):
        message = self.assert_fails('org.idled1.Error.InvalidValue', 'SetOptions', options('ondemand', 'Dwell', 'soon'))
        self.set('soon')
        self.wait_text('#%s-error' % DWELL, message)
        self.assertEqual(self.attribute('#' + DWELL, 'aria-invalid'), 'true')
        self.assertEqual(self.value(), 'soon', 'what was typed stays to be corrected')
        self.set('7s')
        self.wait_page(lambda: self.text('#%s-error' % DWELL) == '', 'no message')

    def test_set_by_another_client(self):
        """It is shown, except where the user is typing."""
        self.fill('#' + DWELL, '9')
        self.set_option('ondemand', 'Dwell', '11s')
        self.set_option('ondemand', 'MinCores', '2')
        self.wait_page(lambda: self.value('#option-ondemand-MinCores') == '2', 'the new value')
        self.assertEqual(self.value(), '9')

    def test_reload(self):
        self.write_config('policies/ondemand.conf', '[Policy]\nDwell=8s\n')
        self.click('#reload')
        self.wait_page(lambda: self.value() == '8s', 'the value of the file')
        self.wait_text('[data-option=%s] .source' % DWELL, 'ondemand.conf:2')

    def test_reload_of_mistakes(self):
        self.write_config('policies/ondemand.conf', '[Policy]\nDwell=nonsense\n')
        self.click('#reload')
        self.wait_text('#errors', 'ondemand.conf:2')
        self.assertEqual(self.value(), '5s')


class Pause(Shown):
    def test_pause_and_resume(self):
        self.click('#pause')
        wait_until(lambda: self.get('Pauses'), 'the pause')
        self.wait_text('#notices', 'Cockpit')
        self.wait_text('#pause', 'Resume')
        self.click('#pause')
        wait_until(lambda: not self.get('Pauses'), 'its end')
        self.wait_page(lambda: self.text('#notices') == '', 'no notice')


class Life(Case):
    def test_daemon_comes_and_goes(self):
        self.show()
        self.wait_state('stopped')
        self.assertIn('systemctl enable --now idled', self.text('#empty'))
        self.start()
        self.wait_state('running')
        self.assertEqual(self.count('.cpu'), 8)
        self.daemon.stop()
        self.wait_state('stopped')
        self.start()
        self.wait_state('running')
        self.set_idle_mask('7')
        self.wait_page(lambda: self.count('[data-state=parked]') == 1, 'signals of the new one')
        self.assert_no_faults()

    def test_in_the_shell(self):
        """Cockpit's menu has the page; while another one is shown nothing is read."""
        self.start()
        seen = self.monitor("type='method_call',member='GetManagedObjects'")
        self.show(path='/idled')
        self.wait_page(lambda: self.in_frame('frame.document.body.dataset.state') == 'running',
                       'the page in the shell')
        self.assertIn('CPU power', self.text('nav'))
        wait_until(lambda: len(seen) >= 2, 'reads')
        self.click('nav a[href="/users"]')
        self.wait_page(lambda: self.in_frame('frame.cockpit.hidden'), 'another page')
        self.in_frame('frame.cockpit.user().then(() => 0)')
        del seen[:]
        self.set_idle_mask('7')
        self.wait_page(lambda: self.in_frame('frame.cockpit.hidden'), 'another page')
        self.assertEqual(seen, [])


@needs_root
class Denied(Shown):
    USER = NOBODY

    def prepare(self):
        self.path = self.hold(latency_us=50, cpus='2', reason='of root')

    def test_sees_all_and_changes_nothing(self):
        self.wait_text('#notices', 'administrative access')
        self.wait_text('[data-hold]', 'of root')
        self.assertEqual(self.count('.cpu'), 8)
        self.assertIsNotNone(self.attribute('[data-hold] button', 'disabled'))
        self.click('[data-profile=power-saver] button')
        self.wait_text('#errors', 'administrative access')
        self.assertEqual(self.get('ChosenProfile'), '')
        self.click('[data-section=ondemand] summary')
        self.fill('#' + DWELL, '30s')
        self.click('[data-option=%s] .primary' % DWELL)
        self.wait_text('#%s-error' % DWELL, 'administrative access')
        self.click('#pause')
        self.wait_text('#errors', 'paused')
        self.assertFalse(self.get('Pauses'))
        self.assertEqual([str(path) for path in self.get('Holds')], [self.path])


@needs_root
class LoggedIn(WithLogin, Denied):
    """The same for a user who logs in with a password."""

    TRACES = '/etc/passwd', '/etc/shadow', '/var/log/wtmp', '/var/log/btmp', '/var/log/lastlog'

    def traces(self):
        """How often the machine's files name the account: the test must leave them alone."""
        found = {}
        for path in filter(os.path.exists, self.TRACES):
            with open(path, 'rb') as file:
                found[path] = file.read().count(self.ACCOUNT.encode())
        return found

    def setUp(self):
        self.before = self.traces()
        super().setUp()

    def tearDown(self):
        super().tearDown()
        self.assertEqual(self.traces(), self.before)

    def test_follows_the_machine(self):
        self.set_idle_mask('6-7')
        self.wait_page(lambda: self.states() == ['active'] * 6 + ['parked'] * 2, 'parked marks')
        self.wait_text('.figures', '2 of 8')


@needs_root
class Allowed(WithPolkit, Shown):
    """The user has no administrative access, but polkit allows changes."""

    USER = NOBODY

    def prepare(self):
        self.start_polkit(YES)

    def test_polkit_decides(self):
        self.wait_text('#notices', 'administrative access')
        self.click('[data-profile=power-saver] button')
        wait_until(lambda: self.get('ChosenProfile') == 'power-saver', 'the profile')
        self.wait_text('[data-profile=power-saver]', 'in effect')
        self.assertEqual(self.text('#errors'), '')
        self.answer(CHALLENGE)
        self.click('#profile-auto')
        self.wait_text('#errors', 'administrative access')
        self.assertEqual(self.get('ChosenProfile'), 'power-saver')


class Large(Shown):
    """256 CPUs."""

    MACHINE = 'gnr3'

    def test_one_update_a_frame(self):
        self.assertEqual(self.count('.cpu'), 256)
        self.assertEqual(self.count('[role=group]'), 2)
        self.assertEqual(self.count('.core'), 128)
        self.page.evaluate('''
            window.frames_ = window.updates = 0;
            new MutationObserver(() => window.updates++).observe(
                document.body, { subtree: true, childList: true, attributes: true,
                                 characterData: true });
            (function next() { requestAnimationFrame(() => { window.frames_++; next(); }); })();
            0''')
        self.set_idle_mask('64-127')
        self.wait_page(lambda: self.count('[data-state=parked]') == 64, '64 parked')
        self.page.resize(400, 900)
        self.assertLessEqual(self.page.evaluate('document.documentElement.scrollWidth'), 400)
        updates, frames = self.page.evaluate('[window.updates, window.frames_]')
        self.assertGreater(updates, 0)
        self.assertLessEqual(updates, frames)


# Texts that are too faint on the nearest background colour.
FAINT = """(() => {
    const numbers = text => text.match(/[\\d.]+/g).map(Number);
    const light = colour => {
        const [r, g, b] = numbers(colour).map(
            n => n / 255 <= 0.03928 ? n / 255 / 12.92 : ((n / 255 + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = node => {
        const colour = getComputedStyle(node).backgroundColor;
        return numbers(colour)[3] !== 0 ? colour : behind(node.parentElement);
    };
    const contrast = node => {
        const [a, b] = [light(getComputedStyle(node).color), light(behind(node))];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    };
    return [...document.querySelectorAll('main *')].filter(
        node => node.offsetParent && [...node.childNodes].some(child => child.nodeType === 3) &&
                contrast(node) < 4.5).map(node => node.outerHTML + contrast(node));
})()"""


class Layout(Shown):
    def prepare(self):
        self.hold(latency_us=50, cpus='2-3', reason='x' * 200)

    def test_narrow(self):
        self.page.resize(320, 900)
        self.wait_text('[data-hold]', 'xxx')
        self.wait_page(lambda: self.page.evaluate('innerWidth') == 320, 'the narrow window')
        for section in ('Daemon', 'ondemand'):
            # The options are asked for in a call of their own, which may be answered after the holds.
            summary = '[data-section=%s] summary' % section
            self.wait_page(lambda: self.count(summary) == 1, 'section ' + section)
            self.click(summary)
            self.wait_page(lambda: self.find('[data-section=%s]' % section, 'node.open'),
                           'the open section ' + section)
        self.assertLessEqual(self.page.evaluate('document.documentElement.scrollWidth'), 320)

    def test_dark(self):
        colour = 'getComputedStyle(document.querySelector(".card")).backgroundColor'
        self.assertEqual(self.page.evaluate(colour), 'rgb(255, 255, 255)')
        self.page.prefer('dark')
        self.wait_page(lambda: self.page.evaluate(colour) == 'rgb(27, 29, 33)', 'dark')
        self.page.evaluate('localStorage.setItem("shell:style", "light"),'
                           'window.dispatchEvent(new CustomEvent("cockpit-style",'
                           '{ detail: { style: "light" } }))')
        self.wait_page(lambda: self.page.evaluate(colour) == 'rgb(255, 255, 255)', 'light')

    def test_contrast(self):
        """Every text has a contrast of at least 4.5 to its background (WCAG AA), in both themes."""
        self.set_idle_mask('4-7')
        self.pause('a test', 3600 * 1000 * 1000)
        self.wait_text('#notices', 'a test')
        for scheme in ('light', 'dark'):
            self.page.prefer(scheme)
            self.wait_page(lambda: self.page.evaluate(
                'document.documentElement.classList.contains("pf-theme-dark")') ==
                (scheme == 'dark'), scheme)
            self.assertEqual(self.page.evaluate(FAINT), [], scheme)

    def test_everything_has_a_name(self):
        """Buttons, fields and CPUs, as assistive technology has them."""
        for node in self.page.call('Accessibility.getFullAXTree')['nodes']:
            role = node.get('role', {}).get('value')
            if role in ('button', 'textbox', 'option', 'listbox', 'region', 'table'):
                self.assertTrue(node.get('name', {}).get('value'), node)


MEASURED = {
    'Name': 'ondemand', 'Summary': '', 'Reason': '', 'Verdict': 'saves', 'EnergySource': 'rapl',
    'SavedJoules': [12300, 10000, 14600], 'SavedWatts': [0.83, 0.5, 1.2], 'WaitingChange': [None] * 3,
    'EffectiveShare': 0.92, 'Blocks': 48, 'BlocksDropped': 2,
}


class Modules(Shown):
    """Single modules, loaded into the page."""

    def savings(self, **values):
        return self.page.evaluate('''Promise.all([import('%(frame)spower.js'), import('%(frame)sdom.js')]).then(
            ([power, dom]) => {
                const node = document.createElement('div');
                document.body.append(node);
                dom.draw(node, [power.policies_card({ all: () => [%(policy)s] })]);
                const text = node.innerText;
                node.remove();
                return text;
            })''' % {'frame': FRAME, 'policy': json.dumps({**MEASURED, **values})})

    def test_savings(self):
        text = self.savings()
        for part in ('saves energy', '12.3 kJ (95 % interval: 10.0 kJ to 14.6 kJ)',
                     '0.8 W (95 % interval: 0.5 W to 1.2 W)', '92 % of the time',
                     '48 used, 2 dropped', 'RAPL'):
            self.assertIn(part, text)
        self.assertIn('costs energy', self.savings(Verdict='costs'))
        text = self.savings(Verdict='unknown', SavedJoules=[None] * 3, SavedWatts=[None] * 3)
        self.assertIn('not yet known', text)
        self.assertNotIn('interval', text)
        self.assertIn('not available', self.savings(EnergySource='none'))
        for values in {'Verdict': None}, {'EnergySource': 'none', 'Blocks': 0}:
            self.assertIn('Savings are not measured', self.savings(**values))

    def test_formats(self):
        for expression, expected in (
                ('count_cpus("")', 0), ('count_cpus("2-3,8")', 3), ('count_cpus("0-255")', 256),
                ('percent(0)', '0 %'), ('percent(0.004)', '0.4 %'), ('percent(1)', '100 %'),
                ('watts(3.14)', '3.1 W'), ('watts(-0.25)', '-0.3 W'), ('watts(250.4)', '250 W'),
                ('watts(-0.01)', '0.0 W'), ('joules(5)', '5 J'), ('joules(-0)', '0 J'),
                ('joules(9999)', '9,999 J'), ('joules(3.6e6)', '1.00 kWh'),
                ('joules(-20000)', '-20.0 kJ'), ('frequency(400000)', '400 MHz'),
                ('frequency(4700000)', '4.70 GHz'), ('duration(0)', '0 µs'),
                ('duration(50)', '50 µs'), ('duration(1048)', '1 ms'),
                ('duration(59999999)', '59 s'), ('duration(3600e6)', '1 h 0 min'),
                ('duration(90061e6)', '1 d 1 h'), ('shell_word("Dwell=30s")', 'Dwell=30s'),
                ('shell_word("Units=a b")', "'Units=a b'"),
                ('shell_word("x=it\'s;rm")', "'x=it'\\''s;rm'")):
            with self.subTest(expression):
                self.assertEqual(self.page.evaluate(
                    'import("%sformat.js").then(format => format.%s)' % (FRAME, expression)),
                    expected)


if __name__ == '__main__':
    skip_without()
    main()
