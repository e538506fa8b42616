import Foundation
import PowerSync
import TestSupport

/// What a device has subscribed to: the docs of which spaces.
struct DeviceSubscriptions {
    /// What is known about the docs of a space.
    struct Known {
        /// Keeps the subscription alive, in the process that runs.
        var handle: (any SyncStreamSubscription)?
        /// Whether the subscription outlives its handle for longer than any world.
        var isLasting = false
        /// Whether the device must have the docs when everything is at rest.
        var isCertain = false
        /// From when on it must not, in nanoseconds of the simulation; `nil` while it may.
        var end: UInt64?
    }

    /// By spaces; what a device has never subscribed to, or lost by signing out, it must not have.
    private(set) var known: [String: Known] = [:]
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
    mutating func willSubscribe(to space: String) {
        var state = known[space] ?? Known()
        (state.isLasting, state.isCertain, state.end) = (false, false, nil)
        known[space] = state
    }

    /// A subscription was stored.
    mutating func didSubscribe(to space: String, _ handle: any SyncStreamSubscription, isLasting: Bool) {
        known[space] = Known(handle: handle, isLasting: isLasting, isCertain: true, end: nil)
    }

    /// Takes the handle of a space.
    mutating func takeHandle(of space: String) -> (any SyncStreamSubscription)? {
        defer { known[space]?.handle = nil }
        return known[space]?.handle
    }

    /// The handle of a space was given up.
    mutating func release(_ space: String, at now: UInt64) {
        guard var state = known[space], !state.isLasting else { return }
        (state.isCertain, state.end) = (false, Self.end(now))
        known[space] = state
    }

    /// The process has died, with all handles.
    mutating func release(at now: UInt64) {
        for space in known.keys.sorted() {
            // Only a subscription that was stored has a handle.
            guard let handle = takeHandle(of: space) else { continue }
            lost.append(handle)
            release(space, at: now)
        }
    }

    /// The device has an older file: whatever it has subscribed to once may be in it.
    mutating func doubt() { known = known.mapValues { _ in Known() } }

    /// The user has signed out.
    mutating func clear() { known = [:] }
}

extension SimulatedDevice {
    /// Subscribes to the docs of a space.
    ///
    /// - Parameters:
    ///   - space: The space.
    ///   - ttl: How long the docs stay when the handle is gone, in seconds; `nil` for longer than any world.
    ///   - priority: A priority of the subscription's own, or none.
    func subscribe(to space: String, ttl: Int?, priority: Int?) {
        guard user != nil else { return }
        run { [self] database in
            let before = epoch
            subscriptions.willSubscribe(to: space)
            let handle = try await stream(space, database).subscribe(
                ttl: ttl.map(Double.init) ?? DeviceSubscriptions.lasting,
                priority: priority.map { BucketPriority(Int32($0)) }
            )
            guard epoch == before else { return }
            subscriptions.didSubscribe(to: space, handle, isLasting: ttl == nil)
        }
    }

    /// Gives up the handle of a space, and lets its lifetime begin.
    func unsubscribe(from space: String) {
        run { [self] _ in
            guard let handle = subscriptions.takeHandle(of: space) else { return }
            // Whether it comes to that or not, the handle is gone.
            subscriptions.release(space, at: world.runtime.now)
            try await handle.unsubscribe()
        }
    }

    private func stream(_ space: String, _ database: any PowerSyncDatabaseProtocol) -> any SyncStream {
        database.syncStream(name: WorldSchema.docs, params: ["space": .string(space)])
    }

    /// Compares the docs of each space with its subscription, when everything is at rest.
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
            let state = subscriptions.known[space]
            let mayBeThere = state.map { ($0.end ?? .max) > beginning } ?? false
            if there == all, mayBeThere || all.isEmpty { continue }
            if there.isEmpty, state?.isCertain != true { continue }
            let why = state.map {
                "\($0.isCertain ? "subscribed" : "maybe subscribed") until \($0.end.map(Timeline.clock) ?? "now")"
            }
            return "\(there.count) docs of \(space), of \(all.count), \(why ?? "never subscribed")"
        }
        return nil
    }
}
