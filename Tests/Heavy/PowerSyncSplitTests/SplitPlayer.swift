import GRDB
import TestSupport

@testable import PowerSyncCore

/// Plays transcripts on databases that are used again, because making one takes longer than a transcript.
final class SplitPlayer {
    private let folder: TemporaryFolder
    /// Clients in memory that record and replay, by whether they have a raw table.
    private var clients: [Bool: (recorder: TranscriptClient, replayer: TranscriptClient)] = [:]

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Records the transcript of a seed and plays it in another way.
    ///
    /// - Returns: What went wrong, in words, with the transcript; `nil` if nothing did.
    func failure(ofSeed seed: UInt64) throws -> String? {
        var random = SeededGenerator(seed: seed &* 7919)
        let schema = TranscriptSchema(hasRawTable: random.number(below: 2) == 0)
        let (recorder, replayer) = try clients(schema)
        try recorder.reset()
        let reopens = random.number(below: 3) == 0
        let (transcript, fault) = RandomTranscript.record(
            seed: seed,
            length: 16,
            findsResumptions: reopens,
            on: recorder
        )
        if let fault {
            let lines = transcript.steps.map(\.description).joined(separator: "\n")
            return "Seed \(seed), one event a transaction:\n\(lines)\n\n\(fault.description)"
        }
        let way = TranscriptReplay.Way(
            bulkLoadThreshold: [1, 4, .max, .max].randomElement(using: &random) ?? .max,
            meanBatch: [4, .max].randomElement(using: &random) ?? 4,
            reopens: reopens
        )
        // A file now and then, which takes longer than memory.
        let path = reopens && random.number(below: 8) == 0 ? folder.path("\(seed).db") : nil
        let client =
            try path.map {
                try TranscriptClient(schema, at: $0, bulkLoadThreshold: way.bulkLoadThreshold)
            } ?? replayer
        client.bulkLoadThreshold = way.bulkLoadThreshold
        if path == nil { try client.reset() }
        var replay = TranscriptReplay(transcript, way, seed: random.next(), on: client)
        let differences = replay.run()
        guard !differences.isEmpty else { return nil }
        let lines = replay.log.joined(separator: "\n")
        return "Seed \(seed), \(way):\n\(lines)\n\n\(differences.joined(separator: "\n"))"
    }

    private func clients(_ schema: TranscriptSchema) throws -> (recorder: TranscriptClient, replayer: TranscriptClient)
    {
        if let known = clients[schema.hasRawTable] { return known }
        let new = try (
            recorder: TranscriptClient(schema, bulkLoadThreshold: .max),
            replayer: TranscriptClient(schema, bulkLoadThreshold: .max)
        )
        clients[schema.hasRawTable] = new
        return new
    }
}
