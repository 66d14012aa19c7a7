#include "daemon/schedule/fair_queue.h"

#include <algorithm>
#include <limits>

namespace gpuemu {
namespace {

/// Weight of the latest case in the running average.
constexpr double kUsualShare = 0.25;

/// Returns the smallest used time of the entries other than `own` that have work; `otherwise` if
/// none has.
template <typename Shares>
double least_of_others(const Shares& shares, const void* own, double otherwise) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [number, share] : shares) {
    if (&share != own && !share.is_idle()) least = std::min(least, share.used);
  }
  return least < std::numeric_limits<double>::infinity() ? least : otherwise;
}

}  // namespace

/// A session accumulates no credit while it has nothing to run.
FairQueue::Session& FairQueue::begin_waiting(const Place& place, Time now, bool goes_on) {
  if (!sessions_.contains(place.session)) forget_idle(now);
  Session& session = sessions_[place.session];
  session.weight = place.weight;
  if (goes_on) return session;
  if (session.waiting == 0 && (session.running == 0 || now - session.emptied > kNoPause)) {
    session.used = std::max(session.used, least_of_others(sessions_, &session, clock_));
  }
  Group& group = session.groups[place.group];
  if (group.jobs.empty() && (group.running == 0 || now - group.emptied > kNoPause)) {
    group.used = std::max(group.used, least_of_others(session.groups, &group, group.used));
  }
  return session;
}

bool FairQueue::others_wait(uint64_t session) const {
  return std::ranges::any_of(
      sessions_, [&](const auto& one) { return one.first != session && one.second.waiting > 0; });
}

size_t FairQueue::running_of(uint64_t session) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? 0 : found->second.running;
}

FairQueue::Ticket FairQueue::enter(const Place& place, Time now, bool goes_on) {
  Session& session = begin_waiting(place, now, goes_on);
  Group& group = session.groups[place.group];
  const Ticket ticket = ++last_;
  const auto [job, is_new] = group.jobs.try_emplace(place.job);
  if (is_new) group.turns.push_back(place.job);
  job->second.tickets.push_back(ticket);
  job->second.urgency = place.urgency;
  places_[ticket] = {place};
  ++session.waiting;
  ++waiting_;
  return ticket;
}

bool FairQueue::is_within_budget(const Session& session, Time now) {
  Time used{0};
  for (const auto& [ended, time] : session.interactive) {
    if (ended > now - kInteractiveWindow) used += time;
  }
  for (const auto& [ticket, began] : session.interactive_running) used += now - began;
  return used < kInteractiveBudget;
}

std::optional<FairQueue::Ticket> FairQueue::next_of(const Session& session, const HasRoom& has_room,
                                                    bool only_interactive) const {
  std::optional<Ticket> found;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [number, group] : session.groups) {
    if (group.jobs.empty() || group.used >= least || !has_room(number)) continue;
    const auto fits = [&](uint64_t job) {
      return !only_interactive || group.jobs.at(job).urgency == Urgency::Interactive;
    };
    const auto turn = std::ranges::find_if(group.turns, fits);
    if (turn == group.turns.end()) continue;
    found = group.jobs.at(*turn).tickets.front();
    least = group.used;
  }
  return found;
}

std::optional<FairQueue::Ticket> FairQueue::next_among(Time now, const HasRoom& has_room,
                                                       bool only_interactive) const {
  std::optional<Ticket> found;
  double least = std::numeric_limits<double>::infinity();
  // In the order in which they were opened; the first of equal ones wins.
  for (const auto& [number, session] : sessions_) {
    if (session.waiting == 0 || session.promised() >= least) continue;
    if (only_interactive && !is_within_budget(session, now)) continue;
    const auto ticket = next_of(session, has_room, only_interactive);
    if (!ticket) continue;
    found = ticket;
    least = session.promised();
  }
  return found;
}

std::optional<FairQueue::Ticket> FairQueue::next(Time now, const HasRoom& has_room) const {
  const auto urgent = next_among(now, has_room, true);
  return urgent ? urgent : next_among(now, has_room, false);
}

bool FairQueue::may_keep_lane(Ticket ticket, Time now, const HasRoom& has_room) const {
  if (running_ == 0) return false;  // next() decides about a single lane.
  const Place& place = places_.at(ticket).place;
  const auto urgent = next_among(now, has_room, true);
  if (urgent) {
    const Place& first = places_.at(*urgent).place;
    if (first.session != place.session || first.job != place.job) return false;
  }
  const Session& own = sessions_.at(place.session);
  const auto first = next_of(own, has_room, false);
  if (!first) return false;
  const Place& turn = places_.at(*first).place;
  if (turn.job != place.job || turn.group != place.group) return false;
  const double each = std::min(own.usual, static_cast<double>(kKeptLaneMax.count()));
  return std::ranges::all_of(sessions_, [&](const auto& one) {
    const Session& other = one.second;
    const double heavier = std::max({own.weight, other.weight, 1.0});
    const double ahead = static_cast<double>(running_) * each / heavier;
    return &other == &own || other.waiting == 0 || own.promised() <= other.used + ahead ||
           !next_of(other, has_room, false);
  });
}

void FairQueue::serve(Ticket ticket, Time now, const HasRoom& has_room) {
  Served& served = places_.at(ticket);
  const Place& place = served.place;
  Session& session = sessions_.at(place.session);
  const bool goes_first = place.urgency == Urgency::Interactive && is_within_budget(session, now);
  if (goes_first) {
    session.interactive_running[ticket] = now;
  } else {
    clock_ = std::max(clock_, session.used);
    // A session whose groups have no room does not wait for a lane, so it accumulates no credit
    // either.
    for (auto& [number, other] : sessions_) {
      if (other.waiting > 0 && other.used < session.used && !next_of(other, has_room, false)) {
        other.used = session.used;
      }
    }
  }
  drop(place, ticket, now, true);
  served.is_running = true;
  ++session.running;
  ++running_;
  ++session.groups.at(place.group).running;
}

/// Removes the case from those that wait; its job, if it has more cases and this was its turn, goes
/// to the end of the group.
void FairQueue::drop(const Place& place, Ticket ticket, Time now, bool is_served) {
  Session& session = sessions_.at(place.session);
  Group& group = session.groups.at(place.group);
  const auto job = group.jobs.find(place.job);
  const bool was_next = is_served || job->second.tickets.front() == ticket;
  std::erase(job->second.tickets, ticket);
  const bool is_done = job->second.tickets.empty();
  if (is_done) group.jobs.erase(job);
  if (group.jobs.empty()) group.emptied = now;
  if (is_done || was_next) std::erase(group.turns, place.job);
  if (!is_done && was_next) group.turns.push_back(place.job);
  if (--session.waiting == 0) session.emptied = now;
  --waiting_;
}

void FairQueue::leave(Ticket ticket, Time now) {
  const auto found = places_.find(ticket);
  drop(found->second.place, ticket, now, false);
  places_.erase(found);
}

void FairQueue::end(Ticket ticket, Time used, Time now) {
  const auto found = places_.find(ticket);
  const Place place = found->second.place;
  places_.erase(found);
  Session& session = sessions_.at(place.session);
  Group& group = session.groups.at(place.group);
  const auto time = static_cast<double>(used.count());
  session.used += time / session.weight;
  session.usual += (time - session.usual) * (session.usual == 0 ? 1 : kUsualShare);
  group.used += time;
  --session.running;
  --group.running;
  --running_;
  if (waiting_ == 0 && running_ == 0) {
    for (const auto& [number, one] : sessions_) clock_ = std::max(clock_, one.used);
  }
  if (session.interactive_running.erase(ticket) > 0) session.interactive.emplace_back(now, used);
  while (!session.interactive.empty() &&
         session.interactive.front().first <= now - kInteractiveWindow) {
    session.interactive.pop_front();
  }
}

/// Forgets sessions that would start at the current virtual time anyway.
void FairQueue::forget_idle(Time now) {
  std::erase_if(sessions_, [&](const auto& one) {
    const Session& session = one.second;
    const bool owes_none =
        session.interactive.empty() || session.interactive.back().first <= now - kInteractiveWindow;
    return session.is_idle() && owes_none && session.used <= clock_;
  });
}

uint64_t FairQueue::group_of(Ticket ticket) const { return places_.at(ticket).place.group; }

}  // namespace gpuemu
