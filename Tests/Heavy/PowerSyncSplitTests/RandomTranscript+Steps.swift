import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport

@testable import PowerSyncCore

// What can happen, and how often.
extension RandomTranscript {
    /// Mostly begins with a checkpoint that is published, since more can go wrong afterwards.
    mutating func begin() throws {
        guard !oneIn(3) else { return }
        service.change(using: &random)
        try start()
        try checkpoint()
        for bucket in tracked?.buckets ?? [] { try line(service.nextLine(of: bucket.name.rawValue, limit: .max)) }
        try line(.done)
    }

    /// Lets something happen, in one step or a few.
    mutating func `continue`() throws {
        if oneIn(3), let theme = themes.randomElement(using: &random), try unfold(theme) { return }
        guard client.engine.isActive else { return try start() }
        if wasCleared { return try line(.tokenExpires(in: 4000)) }
        guard let tracked else { return try checkpoint() }
        let incomplete = tracked.buckets.filter { !service.missing($0.name.rawValue).isEmpty }
        if incomplete.isEmpty, client.engine.status.progress == nil, !oneIn(4) { return try diff(tracked) }
        switch random.number(below: 16) {
        case 0..<6:
            guard let bucket = incomplete.randomElement(using: &random) else { return try complete(incomplete) }
            try data(bucket.name.rawValue)
        case 6..<12: try complete(incomplete)
        case 12..<15: try diff(tracked)
        default: try checkpoint()
        }
    }

    /// Lets something happen that a theme is about.
    ///
    /// - Returns: Whether that was possible.
    private mutating func unfold(_ theme: Theme) throws -> Bool {
        let isActive = client.engine.isActive
        switch theme {
        case .localWrites: try writeLocally()
        case .rejectedWrites: try rejectWrites()
        case .clearing:
            guard !wasCleared else { return false }
            if isActive, oneIn(2) {
                wasCleared = true
                try local(.clear([]))
            } else {
                if isActive { try event(.stop) }
                try local(oneIn(2) ? .clear(oneIn(3) ? [] : .soft) : .resync(forgettingProgress: oneIn(2)))
            }
        case .subscriptions:
            guard !wasCleared else { return false }
            if isActive, !client.live.isEmpty, oneIn(2) {
                try local(.nothing)
                try line(.tokenExpires(in: [0, 20, 4000].randomElement(using: &random) ?? 0))
            } else {
                try subscribe()
            }
        case .schemaChanges:
            guard oneIn(2) else { return false }
            try changeSchema()
        case .dataOfUntrackedBuckets:
            guard isActive, !wasCleared else { return false }
            guard oneIn(2) else {
                try trackLate()
                return true
            }
            let untracked = service.buckets.filter { bucket in
                tracked?.buckets.contains { $0.name.rawValue == bucket.name } != true
            }
            guard let bucket = untracked.randomElement(using: &random) else { return false }
            try data(bucket.name)
        case .bucketsThatComeAndGo:
            guard let tracked, !wasCleared else { return false }
            switch random.number(below: 3) {
            case 0: try checkpoint()
            case 1: try diff(tracked)
            default: try removeAtOnce()
            }
        case .mistakesOfTheService:
            guard tracked != nil, !wasCleared else { return false }
            try oneIn(2) ? line(.done) : completePartially(below: 4)
        case .interruptions:
            guard isActive else { return false }
            try oneIn(2) ? end() : line(.tokenExpires(in: oneIn(2) ? 20 : 4000))
        }
        return true
    }

    private mutating func start() throws {
        try event(.start(SyncStart()))
        try event(.streamOpened)
    }

    private mutating func end() throws {
        switch random.number(below: 5) {
        case 0: try event(.stop)
        case 1: try event(.tokenRefreshed)
        case 2: try line(.tokenExpires(in: 0))
        case 3: try start()
        default: try event(.streamEnded)
        }
    }

    // MARK: - Lines

    private mutating func data(_ bucket: String) throws {
        try line(service.nextLine(of: bucket, limit: 1 + random.number(below: oneIn(3) ? 6 : 3)))
    }

    /// A service may announce more than there is, so that operations come later which have smaller ids, and less the next time.
    private mutating func announcedOpID() -> OpID {
        service.announcedOpID = service.lastOpID + (oneIn(3) ? Int64(random.number(below: 9)) : 0)
        return OpID(service.announcedOpID)
    }

    private mutating func announcedWriteCheckpoint() -> WriteCheckpoint? {
        service.writeCheckpoint > 0 && !oneIn(6) ? WriteCheckpoint(service.writeCheckpoint) : nil
    }

    private mutating func description(of bucket: String) -> BucketDescription? {
        let reasons: [BucketReason]? = [
            [], [.defaultStream(0)], [.subscription(random.number(below: 3))],
            [.subscription(0), .subscription(1), .defaultStream(0)],
        ].randomElement(using: &random)
        var description = service.description(of: bucket, reasons: reasons ?? [])
        if themes.contains(.mistakesOfTheService), oneIn(12) { description?.checksum += Checksum(1) }
        return description
    }

    private mutating func checkpoint() throws {
        service.change(using: &random)
        let comeAndGo = themes.contains(.bucketsThatComeAndGo) || themes.contains(.dataOfUntrackedBuckets)
        let names = service.buckets.map(\.name).filter { _ in !oneIn(comeAndGo ? 3 : 10) }
        let streams = [("d", true), ("s", false), ("t", false)].filter { _ in !oneIn(5) }
        try track(
            Checkpoint(
                lastOpID: announcedOpID(),
                writeCheckpoint: announcedWriteCheckpoint(),
                buckets: names.compactMap { description(of: $0) },
                streams: streams.map { StreamDescription(name: $0.0, isDefault: $0.1) }
            )
        )
    }

    /// A checkpoint with all buckets.
    private var everything: Checkpoint {
        Checkpoint(
            lastOpID: OpID(service.lastOpID),
            writeCheckpoint: WriteCheckpoint(service.writeCheckpoint),
            buckets: service.buckets.compactMap { service.description(of: $0.name, reasons: [.defaultStream(0)]) },
            streams: [StreamDescription(name: "d", isDefault: true), StreamDescription(name: "s", isDefault: false)]
        )
    }

    /// All data of a new checkpoint comes.
    private mutating func downloadEverything() throws {
        service.change(using: &random)
        try track(everything)
        for bucket in service.buckets { try line(service.nextLine(of: bucket.name, limit: .max)) }
    }

    private mutating func track(_ checkpoint: Checkpoint) throws {
        let known = tracked.map { Set($0.buckets.map(\.name.rawValue)) } ?? startedWith.buckets
        for name in known.subtracting(checkpoint.buckets.map(\.name.rawValue)) { service.forget(name) }
        try line(.checkpoint(checkpoint))
    }

    /// A bucket goes when its data has just come, while others have something to publish.
    private mutating func removeAtOnce() throws {
        try downloadEverything()
        guard let tracked, let bucket = tracked.buckets.randomElement(using: &random)?.name.rawValue else { return }
        try local(.nothing)
        service.write(to: bucket, using: &random)
        try data(bucket)
        try diff(tracked, changing: bucket)
        guard client.engine.isActive else { return }
        try completePartially(below: 4)
    }

    /// A bucket is published before a checkpoint names it, while others have something older or newer about one of its rows, or do
    /// not have it any more.
    private mutating func trackLate() throws {
        guard let bucket = service.buckets.randomElement(using: &random)?.name else { return }
        let others = service.buckets.map(\.name).filter { $0 != bucket }
        service.putOneRow(into: oneIn(2) ? [bucket] + others : others + [bucket], using: &random)
        var checkpoint = everything
        checkpoint.buckets.removeAll { $0.name == BucketName(bucket) }
        try track(checkpoint)
        for bucket in service.buckets { try line(service.nextLine(of: bucket.name, limit: .max)) }
        try line(.done)
        guard client.engine.isActive, let tracked else { return }
        if oneIn(2) { for other in others { service.removeLastRow(of: other, using: &random) } }
        try diff(tracked, changing: bucket)
        guard client.engine.isActive else { return }
        for other in others where !service.missing(other).isEmpty { try line(service.nextLine(of: other, limit: .max)) }
        try completePartially(below: 4)
    }

    /// Sends a diff.
    ///
    /// - Parameters:
    ///   - old: What it changes.
    ///   - changed: The only bucket that comes or goes; `nil` for any.
    /// - Throws: A `Fault` of the client.
    private mutating func diff(_ old: Checkpoint, changing changed: String? = nil) throws {
        if changed == nil, !oneIn(5) { service.change(using: &random) }
        var diff = CheckpointDiff(lastOpID: announcedOpID(), writeCheckpoint: announcedWriteCheckpoint())
        for bucket in service.buckets {
            let name = BucketName(bucket.name)
            var current = old.buckets.first { $0.name == name }
            let isNew = current == nil
            let changes = changed.map { $0 == bucket.name } ?? oneIn(themes.contains(.bucketsThatComeAndGo) ? 4 : 20)
            if !isNew, changes {
                diff.removedBuckets.append(name)
                service.forget(bucket.name)
                current = nil
            }
            // Some are new, or back at once.
            if current == nil, changed == nil ? !oneIn(3) : !isNew || !changes { continue }
            guard let description = description(of: bucket.name) else { continue }
            if current?.checksum == description.checksum, !oneIn(6) { continue }
            diff.updatedBuckets.append(description)
        }
        try line(.checkpointDiff(diff))
    }

    /// Completes what is complete.
    private mutating func complete(_ incomplete: [BucketDescription]) throws {
        guard let first = incomplete.map(\.priority.rawValue).min() else {
            return try oneIn(2) ? completePartially(below: 4) : line(.done)
        }
        guard first > 0 else { return try data(incomplete[0].name.rawValue) }
        try completePartially(below: first)
    }

    /// Completes the buckets of some priorities.
    private mutating func completePartially(below limit: Int32) throws {
        try line(.done(Int32(random.number(below: Int(limit)))))
    }

    // MARK: - The app

    private mutating func writeLocally() throws {
        let id = random.number(below: 2)
        switch random.number(below: 12) {
        case 0, 1:
            let isFree = "'\(id)' NOT IN (SELECT id FROM items)"
            try local(.sql("INSERT INTO items (id, col) SELECT '\(id)', 'mine' WHERE \(isFree)"))
        case 2, 3: try local(.sql("UPDATE items SET col = 'mine' || (SELECT next_tx FROM ps_tx) WHERE id = '\(id)'"))
        case 4: try local(.sql("DELETE FROM items WHERE id = '\(id)'"))
        case 5: try local(.upload(onlyFirst: true, nil))
        case 6: try local(.upload(onlyFirst: false, oneIn(2) ? service.makeWriteCheckpoint() : nil))
        default: try finishUpload()
        }
    }

    private mutating func rejectWrites() throws {
        switch random.number(below: 6) {
        case 0, 1:
            try local(.sql("UPDATE items SET col = 'mine' WHERE id = '\(random.number(below: 2))'"))
            try local(.setAside(.park))
            if oneIn(2) { try finishUpload() }
        // What changes the schema of the file takes long.
        case 2: try local(.setAside(oneIn(2) ? .park : .skip))
        case 3: try local(.restoreRejectedWrites)
        case 4: try local(.forgetRejectedWrites)
        default: try local(.sql("DELETE FROM \(RejectedWrites.table)"))
        }
    }

    private mutating func finishUpload() throws {
        try local(.upload(onlyFirst: false, nil))
        if oneIn(4), client.engine.isActive { try event(.uploadCompleted) }
        let writeCheckpoint = service.makeWriteCheckpoint()
        // The stream can be faster than the answer.
        if client.engine.isActive, !wasCleared, oneIn(3) {
            try downloadEverything()
            try line(.done)
            if client.engine.isActive, oneIn(2) { try completePartially(below: 4) }
        }
        try local(.acknowledge(writeCheckpoint))
        if client.engine.isActive { try event(.uploadCompleted) }
    }

    private mutating func subscribe() throws {
        let parameters: JSONObject? = oneIn(2) ? ["n": 1] : nil
        let key = StreamKey(name: ["s", "t", "d"].randomElement(using: &random) ?? "s", parameters: parameters)
        if oneIn(3) {
            try local(.unsubscribe(key))
        } else {
            let lifetime: Int64? = oneIn(2) ? nil : 60
            try local(.subscribe(key, timeToLive: lifetime, priority: Int32(random.number(below: 4))))
        }
        if client.engine.isActive { try event(.subscriptionsChanged) }
    }

    private mutating func changeSchema() throws {
        var schema = client.schema
        switch random.number(below: 8) {
        case 0: schema.hasExtraColumn.toggle()
        case 1: schema.hasIndex.toggle()
        case 2, 3:
            guard !wasCleared else { return }
            try changeRawTable()
            return
        default:
            schema.other =
                TranscriptSchema.Other.allCases.filter { $0 != schema.other }.randomElement(using: &random) ?? .untyped
        }
        try apply(schema)
        guard schema.other == .localOnly, oneIn(2) else { return }
        try local(.sql("INSERT INTO other (id, col) SELECT '0', 'mine' WHERE '0' NOT IN (SELECT id FROM other)"))
    }

    /// A raw table comes or goes, which takes effect with the next iteration; the app moves its rows itself, and has what was
    /// synced before published again.
    private mutating func changeRawTable() throws {
        if client.engine.isActive { try event(.stop) }
        var schema = client.schema
        schema.hasRawTable.toggle()
        try apply(schema)
        try local(.sql(schema.hasRawTable ? "DELETE FROM ps_untyped WHERE type = 'notes'" : "DELETE FROM local_notes"))
        try local(.resync(forgettingProgress: oneIn(2)))
    }

    // MARK: - The end

    /// Uploads everything, and publishes checkpoints.
    mutating func settle() throws {
        try publishEverything()
        guard themes.contains(.rejectedWrites) else { return }
        // Their rows are the service's again.
        try local(.sql("DELETE FROM \(RejectedWrites.table)"))
        try publishEverything()
    }

    private mutating func publishEverything() throws {
        for _ in 0..<4 {
            if wasCleared { try event(.line(.tokenExpires(in: 4000))) }
            if !client.engine.isActive { try start() }
            try local(.upload(onlyFirst: false, nil))
            try local(.acknowledge(service.makeWriteCheckpoint()))
            try track(everything)
            let incomplete = service.buckets.filter { !service.missing($0.name).isEmpty }
            let first = incomplete.map(\.priority).min() ?? 4
            if first > 0, oneIn(2) { try completePartially(below: first) }
            guard client.engine.isActive else { continue }
            for bucket in service.buckets {
                while !service.missing(bucket.name).isEmpty { try data(bucket.name) }
            }
            try event(.subscriptionsChanged)
            guard client.engine.isActive else { continue }
            if oneIn(2) { try line(.done(3)) }
            guard client.engine.isActive else { continue }
            try line(.done)
            if client.engine.isActive, client.engine.status.progress == nil { return }
        }
        throw Fault(description: "does not come to rest")
    }
}
