"""The payback model. Read this file first: every line of the business case is here, once, in the order in which it is read.

    latency saved per step -> training hours saved -> release days saved -> dollars per day -> net gain against all costs

A function's argument names are the inputs (`data/inputs.yaml`) and lines it reads. A line that reads a site input has one
value for each region of each fleet; a line that reads `month` has one value for each month, 0 to the horizon. Cash is counted
at the end of its month, so the cash lines are dollars in that month.
"""

from roi.lines import NEVER, UNDEFINED, highest, line, lowest, maximum, minimum, running, total, where
from roi.symbols import Constant

ms_per_hour = Constant("ms_per_hour", 3_600_000, "ms/hour")
minutes_per_hour = Constant("minutes_per_hour", 60, "minute/hour")
hours_per_day = Constant("hours_per_day", 24, "hour/day")
months_per_year = Constant("months_per_year", 12, "month/year")
one_month = Constant("one_month", 1, "month")
one_year = Constant("one_year", 1, "year")
high_utilisation = Constant("high_utilisation", 0.95, "1")
high_storage_price = Constant("high_storage_price", 1, "USD/(GB*month)")

# --- time saved, and what it is worth ---------------------------------------------------------------------------------------


@line("ms/step", "Time of a step saved, synchronisation between regions included")
def step_time_saved(latency_saved, sync_time, steps_per_sync):
    """What regions wait for each other is spread over the steps from one synchronisation to the next."""
    return latency_saved - sync_time / steps_per_sync


@line("hour/run", "Training hours saved per run")
def step_hours_saved(steps_per_run, step_time_saved):
    return steps_per_run * step_time_saved / ms_per_hour


@line("hour/run", "Hours saved per run, queue included")
def run_hours_saved(step_hours_saved, queue_hours_saved):
    return step_hours_saved + queue_hours_saved


@line("day/release", "Release days saved")
def release_days_saved(run_hours_saved, runs_per_release, critical_path_share):
    """Only saved time on the critical path moves the release date."""
    return run_hours_saved * runs_per_release * critical_path_share / hours_per_day


@line("USD/release", "Gain from an earlier release")
def release_gain(release_days_saved, value_per_release_day):
    return release_days_saved * value_per_release_day


@line("run/month", "Training runs per month")
def runs_per_month(releases_per_month, runs_per_release):
    return releases_per_month * runs_per_release


# --- what each site is billed -----------------------------------------------------------------------------------------------


@line("hour/run", "Hours of one run")
def run_hours(steps_per_run, step_time, step_time_saved, is_proposed):
    """Only the proposed fleet has the saved time."""
    return steps_per_run * (step_time - step_time_saved * is_proposed) / ms_per_hour


@line("gpu*hour/month", "GPU-hours spent training")
def training_gpu_hours(share, gpus, run_hours, runs_per_month):
    return share * gpus * run_hours * runs_per_month


@line("minute/start", "Minutes of a start, cold and warm mixed")
def start_minutes(cold_share, cold_start_minutes, warm_start_minutes):
    return cold_share * cold_start_minutes + (1 - cold_share) * warm_start_minutes


@line("gpu*hour/month", "GPU-hours spent starting up")
def startup_gpu_hours(share, gpus, runs_per_month, starts_per_run, start_minutes):
    return share * gpus * runs_per_month * starts_per_run * start_minutes / minutes_per_hour


@line("gpu*hour/month", "GPU-hours billed")
def billed_gpu_hours(training_gpu_hours, utilisation, startup_gpu_hours):
    """Idle GPUs are billed too: training is only the utilised share of what is paid for."""
    return training_gpu_hours / utilisation + startup_gpu_hours


@line("USD/month", "GPUs")
def gpu_cost(billed_gpu_hours, gpu_price):
    return billed_gpu_hours * gpu_price


@line("USD/month", "Orchestration")
def orchestration_cost(billed_gpu_hours, orchestration_overhead):
    return billed_gpu_hours * orchestration_overhead


@line("USD/month", "vCPUs")
def vcpu_cost(billed_gpu_hours, vcpus_per_gpu, vcpu_price):
    return billed_gpu_hours * vcpus_per_gpu * vcpu_price


@line("USD/month", "Checkpoint storage")
def storage_cost(checkpoint_size, checkpoints_kept, storage_price):
    return checkpoint_size * checkpoints_kept * storage_price


@line("GB/month", "Egress of synchronising with other regions")
def sync_egress(egress_per_sync, steps_per_run, steps_per_sync, runs_per_month):
    return egress_per_sync * steps_per_run / steps_per_sync * runs_per_month


@line("USD/month", "Egress")
def egress_cost(egress, sync_egress, egress_price):
    return (egress + sync_egress) * egress_price


@line("USD/month", "Bill of a site")
def site_bill(gpu_cost, orchestration_cost, vcpu_cost, storage_cost, egress_cost, fixed_cost, staff_cost):
    return gpu_cost + orchestration_cost + vcpu_cost + storage_cost + egress_cost + fixed_cost + staff_cost


@line("1", "Belongs to the baseline fleet")
def is_baseline(is_proposed):
    return 1 - is_proposed


@line("USD/month", "Bill of a site of the baseline fleet")
def baseline_site_bill(site_bill, is_baseline):
    return site_bill * is_baseline


@line("USD/month", "Bill of a site of the proposed fleet")
def proposed_site_bill(site_bill, is_proposed):
    return site_bill * is_proposed


@line("USD/month", "Baseline bill")
def baseline_bill(baseline_site_bill):
    return total(baseline_site_bill)


@line("USD/month", "Proposed bill")
def proposed_bill(proposed_site_bill):
    return total(proposed_site_bill)


@line("USD/month", "Change in the bill")
def bill_change(proposed_bill, baseline_bill):
    return proposed_bill - baseline_bill


@line("USD/month", "Increase in the bill")
def bill_increase(bill_change):
    return maximum(bill_change, 0)


@line("USD/month", "Saving on the bill")
def bill_saving(bill_change):
    return maximum(0 - bill_change, 0)


# --- month by month ---------------------------------------------------------------------------------------------------------


@line("month", "Months since the start")
def months_since_start(month, wait):
    """Below zero while the start is waited for. The horizon is counted from today, and so does not wait."""
    return month - wait


@line("1", "In operation")
def operating(months_since_start, month, horizon):
    """1 from the month after the start to the horizon, 0 in the month of the start, when money is only laid out."""
    return where(months_since_start < one_month, 0, where(month <= horizon, 1, 0))


@line("1", "Adoption")
def adoption(months_since_start, delay, ramp):
    """Nothing until the delay is over, then a straight climb to the full benefit over the ramp."""
    return where(months_since_start <= delay, 0, minimum((months_since_start - delay) / maximum(ramp, one_month), 1))


@line("USD", "Release gain")
def release_benefit(release_gain, releases_per_month, adoption, operating):
    return release_gain * releases_per_month * adoption * operating * one_month


@line("USD", "Compute saving realised")
def saving_benefit(bill_saving, saving_realised, adoption, operating):
    """Freed GPU-hours are cash only as far as they are really given back."""
    return bill_saving * saving_realised * adoption * operating * one_month


@line("USD", "Freed capacity")
def capacity_freed(bill_saving, saving_realised, adoption, operating):
    """What is freed and not given back can be used, but it is no cash and no part of the gain."""
    return bill_saving * (1 - saving_realised) * adoption * operating * one_month


@line("USD", "Added running cost")
def running_cost(bill_increase, operating):
    """Costs do not wait for adoption."""
    return bill_increase * operating * one_month


@line("USD", "Upfront cost")
def upfront(months_since_start, month, horizon, upfront_cost):
    """In the month of the start; not at all where that is beyond the horizon."""
    by_the_start = where(months_since_start < 0, 0, where(months_since_start < one_month, upfront_cost, 0))
    return where(month <= horizon, by_the_start, 0)


@line("USD", "Benefit")
def benefit(release_benefit, saving_benefit):
    return release_benefit + saving_benefit


@line("USD", "Cost")
def cost(running_cost, upfront):
    return running_cost + upfront


@line("USD", "Net cash")
def net_cash(benefit, cost):
    return benefit - cost


@line("USD", "Cumulative cash")
def cumulative(net_cash):
    return running(net_cash)


@line("1", "Discount factor")
def discount_factor(discount_rate, month):
    """Effective annual rate; cash at the end of the month, month 0 not discounted."""
    return (1 + discount_rate * one_year) ** (0 - month / months_per_year / one_year)


@line("USD", "Discounted net cash")
def discounted(net_cash, discount_factor):
    return net_cash * discount_factor


@line("USD", "Discounted benefit")
def discounted_benefit(benefit, discount_factor):
    return benefit * discount_factor


@line("USD", "Discounted cost")
def discounted_cost(cost, discount_factor):
    return cost * discount_factor


# --- the answer -------------------------------------------------------------------------------------------------------------


@line("USD", "Release gain over the horizon")
def release_benefit_total(release_benefit):
    return total(release_benefit)


@line("USD", "Compute saving over the horizon")
def saving_benefit_total(saving_benefit):
    return total(saving_benefit)


@line("USD", "Freed capacity over the horizon, not in the net gain")
def capacity_freed_total(capacity_freed):
    return total(capacity_freed)


@line("USD", "Added running cost over the horizon")
def running_cost_total(running_cost):
    return total(running_cost)


@line("USD", "Upfront cost over the horizon")
def upfront_total(upfront):
    return total(upfront)


@line("USD", "Net gain")
def net_gain(net_cash):
    """Undiscounted: all benefits less all costs, month 0 to the horizon."""
    return total(net_cash)


@line("USD", "Net present value")
def npv(discounted):
    return total(discounted)


@line("USD", "Present value of benefits")
def pv_benefit(discounted_benefit):
    return total(discounted_benefit)


@line("USD", "Present value of costs")
def pv_cost(discounted_cost):
    """Upfront cost included."""
    return total(discounted_cost)


@line("1", "Benefit-cost ratio")
def benefit_cost_ratio(pv_benefit, pv_cost):
    return where(pv_cost > 0, pv_benefit / pv_cost, UNDEFINED)


@line("1", "Return on investment, net (NPV / PV of costs)")
def roi_net(npv, pv_cost):
    """The definition of Forrester's Total Economic Impact studies."""
    return where(pv_cost > 0, npv / pv_cost, UNDEFINED)


@line("USD", "Lowest cumulative cash")
def lowest_cumulative(cumulative):
    return lowest(cumulative)


@line("USD", "Peak cash out")
def peak_cash_out(lowest_cumulative):
    """The most money that is out of pocket at the end of any month."""
    return maximum(0 - lowest_cumulative, 0)


@line("month", "Cumulative cash comes back to zero")
def recovery_month(month, cumulative, net_cash):
    """When cumulative cash crosses zero upwards within this month, in a straight line from the month before."""
    return where(
        cumulative - net_cash < 0,
        where(cumulative < 0, NEVER, month - one_month * cumulative / net_cash),
        NEVER,
    )


@line("month", "Cumulative cash comes back to zero, else 0")
def recovery_month_or_zero(recovery_month):
    return where(recovery_month < NEVER, recovery_month, 0)


@line("month", "First recovery")
def first_recovery(recovery_month):
    return lowest(recovery_month)


@line("month", "Last recovery")
def last_recovery(recovery_month_or_zero):
    return highest(recovery_month_or_zero)


@line("month", "Payback")
def payback_month(peak_cash_out, first_recovery):
    """The first time cumulative cash comes back to zero; 0 when no money is ever out of pocket."""
    return where(peak_cash_out > 0, first_recovery, 0)


@line("month", "Sustained payback")
def payback_sustained(peak_cash_out, net_gain, last_recovery):
    """The last time cumulative cash comes back to zero, after which it stays there to the horizon."""
    return where(peak_cash_out > 0, where(net_gain < 0, NEVER, last_recovery), 0)


# --- checks: lines that must be zero ----------------------------------------------------------------------------------------


@line("USD", "Cumulative cash in the last month")
def closing_cash(month, horizon, cumulative):
    return where(month < horizon, 0, where(month <= horizon, cumulative, 0))


@line("USD", "Cumulative cash at the end")
def closing_cash_total(closing_cash):
    return total(closing_cash)


@line("USD", "Cumulative cash at the end less net gain", check=True)
def check_cumulative(closing_cash_total, net_gain):
    return closing_cash_total - net_gain


@line("USD", "Parts of the net gain less net gain", check=True)
def check_parts(release_benefit_total, saving_benefit_total, running_cost_total, upfront_total, net_gain):
    return release_benefit_total + saving_benefit_total - running_cost_total - upfront_total - net_gain


@line("USD", "Present values less net present value", check=True)
def check_present_values(pv_benefit, pv_cost, npv):
    return pv_benefit - pv_cost - npv


@line("USD/month", "Bills by part less bills by fleet", check=True)
def check_bills(baseline_bill, bill_increase, bill_saving, proposed_bill):
    return baseline_bill + bill_increase - bill_saving - proposed_bill


@line("1", "Share of the work in the proposed fleet's sites")
def proposed_share(share, is_proposed):
    return share * is_proposed


@line("1", "Share of the work in the baseline fleet's sites")
def baseline_share(share, is_baseline):
    return share * is_baseline


@line("1", "Shares of the proposed fleet")
def proposed_share_total(proposed_share):
    return total(proposed_share)


@line("1", "Shares of the baseline fleet")
def baseline_share_total(baseline_share):
    return total(baseline_share)


@line("1", "Shares of the two fleets less one each", check=True)
def check_shares(proposed_share_total, baseline_share_total):
    return proposed_share_total + baseline_share_total - 1 - 1


# --- flags: 1 where something is odd but legal ------------------------------------------------------------------------------


@line("1", "Sites of the baseline fleet")
def baseline_sites(is_baseline):
    return total(is_baseline)


@line("1", "Sites of the proposed fleet")
def proposed_sites(is_proposed):
    return total(is_proposed)


@line(
    "1",
    "Latency saved is above the step time",
    flag="Latency saved ({latency_saved}) is above the step time ({step_time}): the proposed runs would take less than no time.",
)
def flag_latency_above_step(latency_saved, step_time):
    return where(latency_saved > step_time, 1, 0)


@line(
    "1",
    "Speed-up above linear",
    flag="The proposed step is faster by more than the growth in regions ({baseline_sites} to {proposed_sites}) on the same "
    "GPUs, which is a speed-up above linear. Say what makes the step faster.",
)
def flag_speed_up_above_linear(latency_saved, step_time, baseline_sites, proposed_sites):
    """Linear scaling divides the step time by the growth in regions; a step that is no faster needs no reason."""
    return where(latency_saved > 0, where((step_time - latency_saved) * proposed_sites < step_time * baseline_sites, 1, 0), 0)


@line(
    "1",
    "Start beyond the horizon",
    flag="The start, in {wait}, is not before the end of the horizon, {horizon}: no gain falls within it.",
)
def flag_start_beyond_horizon(wait, horizon):
    return where(wait < horizon, 0, 1)


@line(
    "1",
    "Utilisation above 95 %",
    flag="{site}: utilisation of {utilisation} is higher than fleets sustain. Is it measured over whole months?",
)
def flag_high_utilisation(utilisation):
    return where(utilisation > high_utilisation, 1, 0)


@line(
    "1",
    "Storage price above 1 USD/GB/month",
    flag="{site}: storage price of {storage_price} is above 1 USD a GB-month. Is it a price per hour?",
)
def flag_high_storage_price(storage_price):
    return where(storage_price > high_storage_price, 1, 0)
