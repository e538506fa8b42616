import Foundation
import PowerSync
import TestSupport

/// What a device has subscribed to: the docs of which spaces, or their titles.
struct DeviceSubscriptions {
    /// A stream with its parameter.
    struct Target: Hashable, Comparable {
        /// ``WorldSchema/docs`` or ``WorldSchema/titles``.
        var stream: String
        var space: String

        /// Chooses one.
        static func choose(_ random: inout SeededGenerator) -> Target {
            let space = WorldSchema.spaces[random.number(below: WorldSchema.spaces.count)]
            let streams = WorldSchema.streams(of: space)
            return Target(stream: streams[random.number(below: streams.count)], space: space)
        }

        static func < (one: Target, other: Target) -> Bool { (one.stream, one.space) < (other.stream, other.space) }
    }

    /// What is known about a subscription.
    struct Known {
        /// Keeps the subscription alive, in the process that runs.
        var handle: (any SyncStreamSubscription)?
        /// Whether the subscription outlives its handle for longer than any world.
        var isLasting = false
        /// Whether the device must have the rows when everything is at rest.
        var isCertain = false
        /// From when on it must not, in nanoseconds of the simulation; `nil` while it may.
        var end: UInt64?
    }

    /// What a device has never subscribed to, or lost by signing out, it must not have.
    private(set) var known: [Target: Known] = [:]
    /// Handles of processes that have died: to let go of one would do something.
    private var lost: [any SyncStreamSubscription] = []

    /// A lifetime that is longer than any world, in seconds.
    static let lasting = 100_000_000.0
    /// The longest one of the others.
    static let longest = 1800.0
    /// How far a clock is wrong at most.
    private static let skew = 3600.0

    /// The time from which on what ends now must be gone.
    private static func end(_ now: UInt64) -> UInt64 { now + UInt64((longest + skew) * 1e9) }

    /// A subscription begins.
    mutating func willSubscribe(to target: Target) {
        var state = known[target] ?? Known()
        (state.isLasting, state.isCertain, state.end) = (false, false, nil)
        known[target] = state
    }

    /// A subscription was stored.
    mutating func didSubscribe(to target: Target, _ handle: any SyncStreamSubscription, isLasting: Bool) {
        known[target] = Known(handle: handle, isLasting: isLasting, isCertain: true, end: nil)
    }

    /// Takes the handle of a subscription.
    mutating func takeHandle(of target: Target) -> (any SyncStreamSubscription)? {
        defer { known[target]?.handle = nil }
        return known[target]?.handle
    }

    /// The handle of a subscription was given up.
    mutating func release(_ target: Target, at now: UInt64) {
        guard var state = known[target], !state.isLasting else { return }
        (state.isCertain, state.end) = (false, Self.end(now))
        known[target] = state
    }

    /// Whether a device may have what it has subscribed to, at a time in nanoseconds of the simulation.
    func mayHave(_ target: Target, at time: UInt64) -> Bool { known[target].map { ($0.end ?? .max) > time } ?? false }

    /// The spaces whose docs may come with two priorities, and so from two commits.
    var spacesOfTwoStreams: Set<String> {
        Set(
            known.keys.map(\.space).filter { space in
                WorldSchema.streams(of: space).count(where: { known[Target(stream: $0, space: space)] != nil }) > 1
            }
        )
    }

    /// The process has died, with all handles.
    mutating func release(at now: UInt64) {
        for target in known.keys.sorted() {
            // Only a subscription that was stored has a handle.
            guard let handle = takeHandle(of: target) else { continue }
            lost.append(handle)
            release(target, at: now)
        }
    }

    /// The device has an older file: whatever it has subscribed to once may be in it.
    mutating func doubt() { known = known.mapValues { _ in Known() } }

    /// The user has signed out.
    mutating func clear() { known = [:] }
}

extension SimulatedDevice {
    /// Subscribes to a stream.
    ///
    /// - Parameters:
    ///   - target: The stream, and the space.
    ///   - ttl: How long its rows stay when the handle is gone, in seconds; `nil` for longer than any world.
    ///   - priority: A priority of the subscription's own, or none.
    func subscribe(to target: DeviceSubscriptions.Target, ttl: Int?, priority: Int?) {
        guard user != nil else { return }
        run { [self] database in
            let before = epoch
            subscriptions.willSubscribe(to: target)
            let handle = try await stream(target, database).subscribe(
                ttl: ttl.map(Double.init) ?? DeviceSubscriptions.lasting,
                priority: priority.map { BucketPriority(Int32($0)) }
            )
            guard epoch == before else { return }
            subscriptions.didSubscribe(to: target, handle, isLasting: ttl == nil)
        }
    }

    /// Gives up the handle of a subscription, and lets its lifetime begin.
    func unsubscribe(from target: DeviceSubscriptions.Target) {
        run { [self] _ in
            guard let handle = subscriptions.takeHandle(of: target) else { return }
            // Whether it comes to that or not, the handle is gone.
            subscriptions.release(target, at: world.runtime.now)
            try await handle.unsubscribe()
        }
    }

    private func stream(
        _ target: DeviceSubscriptions.Target,
        _ database: any PowerSyncDatabaseProtocol
    ) -> any SyncStream { database.syncStream(name: target.stream, params: ["space": .string(target.space)]) }

    /// Compares the docs of each space with its subscriptions, when everything is at rest.
    ///
    /// - Parameters:
    ///   - expected: The rows of all docs that the user may see, as text.
    ///   - beginning: Since when everything is at rest, in nanoseconds of the simulation.
    /// - Returns: What is wrong; `nil` for nothing.
    func difference(ofDocs expected: [String], since beginning: UInt64) -> String? {
        let shown = report?.rows[WorldSchema.docs] ?? []
        for space in WorldSchema.spaces {
            func isOfSpace(_ row: String) -> Bool { row.contains("space_id=\(space) ") }
            let (there, all) = (shown.filter(isOfSpace), expected.filter(isOfSpace))
            let targets = WorldSchema.streams(of: space).map { DeviceSubscriptions.Target(stream: $0, space: space) }
            let possible = targets.filter { subscriptions.mayHave($0, at: beginning) }.map(\.stream)
            if there.isEmpty, all.isEmpty || !targets.contains(where: { subscriptions.known[$0]?.isCertain == true }) {
                continue
            }
            let isRight =
                there.count == all.count
                && zip(there, all).allSatisfy { row, right in
                    (row == right && possible.contains(WorldSchema.docs))
                        || (row == Self.withoutBody(right) && possible.contains(WorldSchema.titles))
                }
            if isRight { continue }
            let why = targets.map { target in
                guard let state = subscriptions.known[target] else { return "never subscribed to its \(target.stream)" }
                let end = state.end.map(Timeline.clock) ?? "now"
                return "\(state.isCertain ? "subscribed" : "maybe subscribed") to its \(target.stream) until \(end)"
            }
            return "\(there.count) docs of \(space), of \(all.count), \(why.joined(separator: ", "))"
        }
        return nil
    }

    /// A row of docs as ``WorldSchema/titles`` has it.
    private static func withoutBody(_ row: String) -> String {
        guard let id = row.firstRange(of: " id=") else { return row }
        return "body=NULL" + row[id.lowerBound...]
    }
}
