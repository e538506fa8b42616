import NIOCore
import PowerSyncProtocol
import TestSupport
import Testing

@Suite struct SyncLineRoundTripTests {
    private static var data: DataLine {
        var data = DataLine(
            bucket: BucketName("1#b|0[\"ü\u{2028}\"]"),
            after: OpID(1),
            nextAfter: .max,
            hasMore: true
        )
        data.append(
            .put,
            opID: OpID(2),
            checksum: Checksum(.max),
            objectType: "lists",
            objectID: "l\"1\\",
            subkey: "a/b",
            data: "{\"id\":\"l1\",\"x\":\"\\u0000\\n\",\"y\":1.50}"
        )
        data.append(.put, opID: OpID(3), checksum: .zero, objectType: "", objectID: "", subkey: "", data: "")
        data.append(.remove, opID: OpID(4), checksum: Checksum(1 << 31), objectType: "t", objectID: "\0\u{1}🥖")
        data.append(.move, opID: OpID(5), checksum: Checksum(7))
        data.append(.clear, opID: .max, checksum: Checksum(1 << 31 - 1))
        return data
    }

    private static let buckets = [
        BucketDescription(name: BucketName("a"), checksum: .zero),
        BucketDescription(
            name: BucketName(""),
            checksum: Checksum(.max),
            priority: .highest,
            count: .max,
            reasons: [.defaultStream(0), .subscription(2_147_483_647)]
        ),
    ]

    private static let lines: [SyncLine] = [
        .data(data), .data(DataLine(bucket: BucketName("empty"))),
        .checkpoint(Checkpoint(lastOpID: .zero)),
        .checkpoint(
            Checkpoint(
                lastOpID: .max,
                writeCheckpoint: WriteCheckpoint(.max),
                buckets: buckets,
                streams: [
                    StreamDescription(
                        name: "s",
                        isDefault: true,
                        errors: [
                            StreamError(subject: .defaultSubscription, message: "line\nbreak"),
                            StreamError(subject: .subscription(3), message: ""),
                        ]
                    )
                ]
            )
        ),
        .checkpointDiff(CheckpointDiff(lastOpID: OpID(1))),
        .checkpointDiff(
            CheckpointDiff(
                lastOpID: OpID(1),
                writeCheckpoint: WriteCheckpoint(0),
                updatedBuckets: buckets,
                removedBuckets: [BucketName("x"), BucketName("y\"")]
            )
        ),
        .partialCheckpointComplete(PartialCheckpointComplete(lastOpID: OpID(1), priority: .highest)),
        .partialCheckpointComplete(PartialCheckpointComplete(lastOpID: nil, priority: Priority(2_147_483_646))),
        .checkpointComplete(CheckpointComplete(lastOpID: OpID(5))),
        .checkpointComplete(CheckpointComplete(lastOpID: nil)),
        .keepalive(tokenExpiresIn: .max), .keepalive(tokenExpiresIn: 0), .unknown(kind: "future \"line\""),
    ]

    @Test(arguments: LineForm.allCases)
    func everyKindOfLineComesBackAsItWas(form: LineForm) throws {
        for line in Self.lines { #expect(try form.lines(of: form.encode(line)) == [line]) }
    }

    @Test func formsAgree() throws {
        for transcript in Transcript.allCases {
            let json = try LineForm.json.lines(of: LineForm.json.body(of: transcript))
            let bson = try LineForm.bson.lines(of: LineForm.bson.body(of: transcript))
            #expect(json == bson)
        }
    }

    /// Flips, inserts, removes and overwrites bytes of valid bodies.
    ///
    /// Whatever comes out is either lines, which survive a round trip, or a typed error; anything else would stop the
    /// test process.
    @Test(arguments: LineForm.allCases)
    func mutatedBodiesAreLinesOrTypedErrors(form: LineForm) throws {
        let seed: UInt64 = 0x5eed_0002
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let bodies = try Transcript.allCases.map { try form.body(of: $0) } + Self.lines.map { form.encode($0) }
        var decodedCount = 0
        for _ in 0..<3_000 {
            let original = bodies[Int.random(in: 0..<bodies.count, using: &generator)]
            let bytes = mutated(Array(original.readableBytesView), using: &generator)
            do throws(SyncLineError) {
                var reader = SyncLineReader(format: form.format, maximumLineLength: 1 << 20)
                reader.append(ByteBuffer(bytes: bytes))
                while let line = try reader.next() {
                    decodedCount += 1
                    #expect(try roundTrip(line.line, form) == line.line, "seed \(seed)")
                }
                while try reader.finish() != nil { decodedCount += 1 }
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
        #expect(decodedCount > 1_000)
    }

    private func roundTrip(_ line: SyncLine, _ form: LineForm) throws(SyncLineError) -> SyncLine? {
        // BSON cannot hold every name that JSON can, and the other way round.
        if case .unknown = line { return line }
        var reader = SyncLineReader(format: form.format)
        reader.append(form.encode(line))
        return try reader.next()?.line
    }

    private func mutated(_ original: [UInt8], using generator: inout SeededGenerator) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1: bytes[place] = UInt8.random(in: 0...255, using: &generator)
            case 2: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
            case 3: bytes.remove(at: place)
            case 4: bytes.removeLast(bytes.count - place)
            default:
                // Numbers at their limits, where lengths are.
                let word: [UInt8] =
                    [[0xff, 0xff, 0xff, 0x7f], [0xff, 0xff, 0xff, 0xff], [0, 0, 0, 0x80], [0, 0, 0, 0]]
                    .randomElement(using: &generator) ?? []
                for (offset, byte) in word.enumerated() where place + offset < bytes.count {
                    bytes[place + offset] = byte
                }
            }
        }
        return bytes
    }

    @Test func randomBytesAreTypedErrors() {
        let seed: UInt64 = 0x5eed_0003
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let alphabet = Array("{}[]\",:\\u0123456789eE+-. truefalsn\n".utf8)
        for _ in 0..<3_000 {
            let count = Int.random(in: 0..<60, using: &generator)
            let text = (0..<count).compactMap { _ in alphabet.randomElement(using: &generator) }
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(throws: SyncLineError.self) { try SyncLine(json: ByteBuffer(bytes: text)) }
            #expect(throws: SyncLineError.self) { try SyncLine(bson: ByteBuffer(bytes: bytes)) }
            // A value alone may be valid; it must not stop the process.
            _ = try? ExactJSON(parsing: ByteBuffer(bytes: text))
        }
    }
}
