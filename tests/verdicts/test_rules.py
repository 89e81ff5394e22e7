"""The rules at their edges, and how often they err when they are fed with draws of known truth."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, ttest_1samp

from odtbook.verdicts.evidence import table_of
from odtbook.verdicts.rules import (
    ANSWERS,
    ITSELF,
    TIMED,
    Effect,
    Equivalence,
    Gain,
    Part,
    Share,
    ahead,
    always,
    bounded,
    color_cells,
    combine,
    equivalent,
    exact,
    itself,
    mostly,
    over,
    remark,
    scaled,
    times_agree,
    whole,
)

DRAWS = 20_000


def part(answer, **further):
    return Part("it", "exact", answer, **further)


@pytest.mark.parametrize(("answers", "expected"), [
    (["confirmed", "confirmed"], "confirmed"),
    (["confirmed", "undecided"], "undecided"),
    (["confirmed", "not run"], "undecided"),
    (["not run", "not run"], "not run"),
    (["undecided", "not run"], "undecided"),
    (["confirmed", "contradicted", "not run"], "contradicted"),
    ([], "not run")])
def test_a_claim_needs_all_its_parts_and_falls_with_one(answers, expected):
    assert combine([part(answer) for answer in answers]) == expected


def test_what_stands_beside_a_claim_does_not_count():
    beside = [part("contradicted").beside(), remark("a", "b", "c")]
    assert combine([part("confirmed"), *beside, itself("a", "b", "c")]) == "confirmed"
    assert combine(beside) == "not run"
    assert combine([*beside, itself("a", "b", "c")]) == itself("a", "b", "c").label == ITSELF


@pytest.mark.parametrize(("answers", "expected"), [
    (["confirmed", "confirmed"], "confirmed"), (["confirmed", ITSELF], "confirmed"),
    (["confirmed", "undecided"], "in part"), (["confirmed", "not run"], "in part"),
    (["undecided", "not run"], "undecided"), (["not run"], "not run"), ([ITSELF], "undecided"),
    (["confirmed", "contradicted"], "contradicted")])
def test_a_claim_of_two_halves_has_two_answers(answers, expected):
    assert whole(answers) == expected


@pytest.mark.parametrize("weak", [
    {"short": True}, {"substitute": "another program"}, {"covered": 0.4}])
def test_nothing_weak_refutes_a_paper(weak):
    covered = weak.pop("covered", 1.0)
    found = part("contradicted").guarded(covered, **weak)
    assert found.answer == "undecided" and len(found.note) > 10


def test_a_substitute_may_confirm_but_fewer_than_half_of_the_lines_may_not():
    assert part("confirmed").guarded(0.5, substitute="x").answer == "confirmed"
    assert part("confirmed").guarded(substitute="x", behind=True).answer == "undecided"
    assert part("confirmed").guarded(0.49).answer == "undecided"
    assert part("contradicted").guarded(0.5).answer == "contradicted"
    assert part("contradicted").guarded(1.0) == part("contradicted")


def test_exact_numbers_agree_to_the_digits_printed():
    assert exact("n", [1.0, 2.5], [1.04, 2.5], digits=0.05).answer == "confirmed"
    assert exact("n", [1.0, 2.5], [1.06, 2.5], digits=0.05).answer == "contradicted"
    excused = exact("n", [5, 2], [6, 2], errata={0: "a slip"})
    assert (excused.answer, excused.note, excused.ours) == ("confirmed", "a slip", "1 of 2 equal")
    assert exact("n", [5, 2], [6, 3], errata={0: "a slip"}).answer == "contradicted"
    assert exact("n", [5, 2, 2], [math.nan, math.nan, 2]).answer == "undecided"
    assert exact("n", [5], [math.nan]).answer == "not run"


def test_an_optimum_bounds_what_a_paper_can_print():
    good = bounded("o", [80.0, 90.0], [80.04, 95.0])
    assert good.answer == "confirmed" and "0 above" in good.interval and "1 equal" in good.interval
    assert bounded("o", [80.2, 90.0], [80.04, 95.0]).answer == "contradicted"
    assert bounded("o", [80.2], [math.nan]).answer == "not run"


def effects(*differences, noise=0.1, df=20):
    return tuple(Effect(f"e{k}", 80.0 + d, 80.0, noise, noise / math.sqrt(20), df)
                 for k, d in enumerate(differences))


def test_means_are_equivalent_when_the_interval_lies_within_the_margin():
    assert equivalent("m", effects(0.0, 0.2), 1.0).answer == "confirmed"
    assert equivalent("m", effects(0.0, 2.0), 1.0).answer == "contradicted"
    unsure = equivalent("m", effects(0.0, 1.0), 1.0)
    assert unsure.answer == "undecided" and unsure.note
    # no power, no confirmation: the p-value of a difference of zero would be 1
    assert equivalent("m", effects(0.0, noise=3.0), 1.0).answer == "undecided"
    assert equivalent("m", (), 1.0).answer == "not run"


def test_a_confirmation_by_luck_is_none():
    """At most half of such draws would be confirmed, although this one lies in the middle."""
    lucky = equivalent("m", effects(0.0, noise=0.45, df=10), 1.0)
    assert lucky.test.answer == "confirmed" and lucky.test.chance() < 0.5
    assert lucky.answer == "undecided" and "only" in lucky.note


def test_equivalence_is_rarely_said_at_the_margin_and_difference_rarely_within_it():
    """Both errors are at most 5 %, whatever the degrees of freedom."""
    rng = np.random.default_rng(0)
    for df in (2, 4, 19):
        test = Equivalence(effects(0.0, 0.0, 0.0, noise=0.3, df=df), 1.0)
        spread = np.array([effect.spread for effect in test.effects])
        own = spread * np.sqrt(rng.chisquare(df, (DRAWS, 3)) / df)
        off = rng.normal([1.0, 0.0, 0.0], spread, (DRAWS, 3))
        assert np.mean(test.answers(off, own) == "confirmed") <= 0.055
        off = rng.normal(1.0, spread, (DRAWS, 3))       # all three just within
        assert np.mean(test.answers(off, own) == "contradicted") <= 0.055


def test_the_chance_of_equivalence_is_what_a_slow_simulation_finds():
    test = Equivalence(effects(0.1, -0.1, noise=0.25, df=4), 1.0)
    rng, counts = np.random.default_rng(1), dict.fromkeys(ANSWERS[:3], 0)
    for _ in range(3000):
        drawn = [Effect(e.name, 80 + rng.normal(0, e.drawn), 80 + rng.normal(0, e.error),
                        e.drawn * (w := math.sqrt(rng.chisquare(e.df) / e.df)), e.error * w, e.df)
                 for e in test.effects]
        counts[Equivalence(tuple(drawn), 1.0).answer] += 1
    for answer, count in counts.items():
        fast = test.chance(draws=20_000, answer=answer)
        assert fast == pytest.approx(count / 3000, abs=0.03)


def test_an_effect_of_twice_the_margin_is_found_where_there_is_power():
    sharp = Equivalence(effects(0.0, 0.0, noise=0.15), 1.0)
    assert sharp.chance() >= 0.95
    assert sharp.chance(False, answer="contradicted") >= 0.9
    blunt = Equivalence(effects(0.0, 0.0, noise=2.0), 1.0)
    assert blunt.chance(answer="undecided") >= 0.9
    assert blunt.chance(False, answer="undecided") >= 0.5
    assert sharp.needed() < 1 < blunt.needed()


@pytest.mark.parametrize("seed", range(5))
def test_a_gain_is_the_one_sided_t_test(seed):
    rng = np.random.default_rng(seed)
    gains = rng.normal(rng.normal(0, 0.6), 1.0, 9)
    answer = ahead("g", gains).answer
    greater, less = (ttest_1samp(gains, 0.0, alternative=side).pvalue
                     for side in ("greater", "less"))
    assert answer == ("confirmed" if greater < 0.05 else
                      "contradicted" if less < 0.05 else "undecided")
    assert ahead("g", -gains, more=False).answer == answer


@pytest.mark.parametrize(("held", "lines"), [(9, 11), (8, 11), (2, 11), (14, 14), (41, 82)])
def test_a_share_is_the_one_sided_exact_test(held, lines):
    greater, less = (binomtest(held, lines, 0.5, side).pvalue for side in ("greater", "less"))
    found = mostly("s", [True] * held + [False] * (lines - held))
    assert found.answer == ("confirmed" if greater <= 0.05 else
                            "contradicted" if less <= 0.05 else "undecided")


def test_about_half_is_an_interval_between_two_bars():
    assert Share(42, 82, (0.35, 0.65)).answer == "confirmed"
    assert Share(5, 10, (0.35, 0.65)).answer == "undecided"
    assert Share(80, 82, (0.35, 0.65)).answer == "contradicted"


def test_too_few_lines_answer_nothing():
    assert ahead("g", []).answer == ahead("g", [math.nan] * 5).answer == "not run"
    assert ahead("g", [1.0, math.nan, 1.0, math.nan]).answer == "undecided"
    assert mostly("s", []).answer == "not run"
    assert mostly("s", [True, True]).answer == "undecided"


@pytest.mark.parametrize(("mean", "n"), [(0.3, 9), (0.7, 14), (-0.4, 20)])
def test_the_chance_of_a_gain_is_how_often_it_is_confirmed(mean, n):
    rng = np.random.default_rng(2)
    gains = rng.normal(size=n)
    gains = mean + (gains - gains.mean()) / gains.std(ddof=1)
    for right, true in ((True, mean), (False, 0.0)):
        often = np.mean([Gain(tuple(rng.normal(true, 1, n))).answer == "confirmed"
                         for _ in range(4000)])
        assert Gain(tuple(gains)).chance(right) == pytest.approx(often, abs=0.025)
        less = Gain(tuple(-gains), more=False)
        assert less.chance(right) == pytest.approx(Gain(tuple(gains)).chance(right))
    assert Gain(tuple(gains)).chance(False) == pytest.approx(0.05)


@pytest.mark.parametrize(("held", "lines"), [(9, 11), (30, 50), (14, 14)])
def test_the_chance_of_a_share_is_how_often_it_is_confirmed(held, lines):
    rng = np.random.default_rng(3)
    for right, true in ((True, held / lines), (False, 0.5)):
        often = np.mean([Share(int(rng.binomial(lines, true)), lines).answer == "confirmed"
                         for _ in range(4000)])
        assert Share(held, lines).chance(right) == pytest.approx(often, abs=0.025)
    assert Share(held, lines).chance(False) <= 0.05


def test_always_falls_with_one_line_beyond_the_noise_of_a_time():
    quick = np.ones(8)
    assert always("t", 1.1 * quick, quick).answer == "confirmed"
    assert always("t", [3, 3, 3, np.inf], [1, 2, 2, np.inf]).ours == "3 of 3 data sets"
    near, far = (np.append(1.5 * np.ones(7), one) for one in (0.9, 0.99 / TIMED))
    assert always("t", near, quick).answer == "undecided"
    assert always("t", far, quick).answer == "contradicted"
    assert always("t", quick[:2], quick[:2]).answer == "undecided"


def test_a_mean_is_over_a_bar_with_the_noise_of_its_seeds():
    one = effects(0.0, noise=0.1)
    assert [over("m", one, bar).answer for bar in (79.0, 80.0, 81.0)] == [
        "confirmed", "undecided", "contradicted"]
    assert over("m", (), 1.0).answer == "not run"


# ------------------------------------------------------------------ times and cells


def two_programs(rng, n=40, noise=0.2):
    """Return times of one search in two implementations that scale otherwise with rows."""
    sizes = np.column_stack([10 ** rng.uniform(2, 5, n), 10 ** rng.uniform(1, 2.5, n)])
    work = 10 ** rng.uniform(1, 2.5, n)
    ours = work * sizes[:, 0] ** 0.5 / 30
    return np.exp(rng.normal(np.log(work), noise)), ours, sizes


def test_a_size_model_takes_out_how_two_implementations_scale():
    published, ours, sizes = two_programs(np.random.default_rng(0))
    model, _ = scaled(published, ours, sizes)
    plain, factor = scaled(published, ours)
    assert np.abs(np.log(model / published)).mean() < np.abs(np.log(plain / published)).mean() / 3
    assert factor == pytest.approx(np.exp(np.log(published / ours).mean()))
    assert times_agree("t", published, ours, sizes).answer == "confirmed"


def test_times_that_have_nothing_in_common_do_not_refute():
    rng = np.random.default_rng(1)
    published, ours, sizes = two_programs(rng, noise=3.0)
    found = times_agree("t", published, ours, sizes)
    assert found.answer == "undecided"
    assert times_agree("t", published[:5], ours[:5], sizes[:5]).answer == "undecided"
    # times below two seconds, printed without digits, are left out
    assert times_agree("t", published / 1e6, ours, sizes).answer == "not run"


def test_cells_are_coloured_by_their_difference():
    cells = table_of([
        {"row": "a", "column": "x", "published": 80.0, "ours": ours, "noise": noise}
        for ours, noise in ((80.04, 0.0), (80.5, 0.3), (80.5, 0.1), (math.nan, 0.1))])
    found = color_cells(cells, 0.05)
    assert found["color"].tolist() == ["equal", "near", "far", "none"]
    assert len(color_cells(cells.assign(published=math.nan), 0.05)) == 0


def test_times_are_coloured_after_one_model_per_program():
    published, ours, sizes = two_programs(np.random.default_rng(0), noise=0.05)
    cells = table_of([
        {"row": k, "column": program, "published": p * factor, "ours": o, "group": "seconds",
         "program": program, "rows": s[0], "columns": s[1]}
        for program, factor in (("A", 1.0), ("B", 50.0))
        for k, (p, o, s) in enumerate(zip(published, ours, sizes, strict=True))])
    assert (color_cells(cells, 0.5)["color"] == "equal").all()
    stopped = pd.concat([cells, cells.head(2).assign(ours=math.inf, published=[math.inf, 3.0])])
    found = color_cells(stopped.reset_index(drop=True), 0.5)["color"].tolist()
    assert found[-2:] == ["equal", "far"]
