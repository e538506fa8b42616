import PowerSyncServiceCore

extension InMemoryBucketStorage.State: StreamTables {
    func record(of stream: ReplicationStreamID) throws -> StreamRecord {
        let index = index(of: stream)
        guard streams.indices.contains(index) else {
            throw BucketStorageError(.unknownStream, "The bucket storage has no replication stream \(stream).")
        }
        return streams[index].record
    }

    func records(in states: Set<ReplicationStream.State>) -> [StreamRecord] {
        streams.map(\.record).filter { states.contains($0.state) }
    }

    func config(of stream: ReplicationStreamID) -> StreamConfig.Stored { streams[index(of: stream)].config }

    func nextConfig(of stream: ReplicationStreamID) throws -> StreamConfig.Stored {
        guard let next = streams[index(of: stream)].next else {
            throw BucketStorageError(.unknownStream, "Replication stream \(stream) has no next config.")
        }
        return next
    }

    mutating func setNextConfig(_ next: NewNextConfig?, of stream: ReplicationStreamID) {
        let index = index(of: stream)
        streams[index].next = next?.config
        streams[index].record.next = next.map { StreamRecord.NextConfig(versionLabel: $0.versionLabel) }
        if let next { streams[index].record.lastConfigNumber = next.number }
    }

    mutating func setNextVersionLabel(_ label: String?, of stream: ReplicationStreamID) {
        streams[index(of: stream)].record.next?.versionLabel = label
    }

    mutating func takeNextConfig(of stream: ReplicationStreamID) {
        let index = index(of: stream)
        guard let config = streams[index].next else { return }
        streams[index].config = config
        streams[index].record.versionLabel = streams[index].record.next?.versionLabel
        streams[index].record.configNumber = streams[index].record.lastConfigNumber
        setNextConfig(nil, of: stream)
    }

    func sourceTables(of stream: ReplicationStreamID) -> [SourceTable] { streams[index(of: stream)].tables }

    func history(_ number: Int64) -> SourceHistory? { number == 0 ? nil : histories[Int(number) - 1] }

    func newestWriteCheckpoint(ofHistory number: Int64) -> LSN? {
        numbers.values.filter { $0.history == number }.map(\.lsn).max()
    }

    mutating func insert(_ stream: NewStream) -> ReplicationStreamID {
        let id = ReplicationStreamID(rawValue: firstID + Int64(streams.count))
        var record = StreamRecord(
            id: id,
            state: .processing,
            sourceHandle: stream.sourceHandle,
            hashKey: stream.hashKey
        )
        record.versionLabel = stream.versionLabel
        (record.configNumber, record.lastConfigNumber) = (stream.configNumber, stream.configNumber)
        streams.append(InMemoryBucketStorage.Stream(record: record, config: stream.config))
        return id
    }

    mutating func setState(_ state: ReplicationStream.State, of stream: ReplicationStreamID) {
        streams[index(of: stream)].record.state = state
    }

    mutating func setVersionLabel(_ label: String?, of stream: ReplicationStreamID) {
        streams[index(of: stream)].record.versionLabel = label
    }

    mutating func number(of history: SourceHistory) -> Int64 {
        if histories.last != history { histories.append(history) }
        return Int64(histories.count)
    }
}
