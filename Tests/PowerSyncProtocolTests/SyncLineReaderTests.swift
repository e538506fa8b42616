import NIOCore
import PowerSyncProtocol
import Testing

@Suite struct SyncLineReaderTests {
    /// Feeds a body in pieces and returns everything that comes out.
    private func read(_ pieces: [ByteBuffer], as form: LineForm) throws -> [ReceivedLine] {
        var reader = SyncLineReader(format: form.format)
        var lines: [ReceivedLine] = []
        for piece in pieces {
            reader.append(piece)
            while let line = try reader.next() { lines.append(line) }
        }
        while let line = try reader.finish() { lines.append(line) }
        #expect(reader.bufferedByteCount == 0)
        return lines
    }

    private func chunks(_ body: ByteBuffer, of size: Int) -> [ByteBuffer] {
        var rest = body
        var chunks: [ByteBuffer] = []
        while let chunk = rest.readSlice(length: min(size, rest.readableBytes)), chunk.readableBytes > 0 {
            chunks.append(chunk)
        }
        return chunks
    }

    @Test(arguments: LineForm.allCases)
    func chunksDoNotMatter(form: LineForm) throws {
        let body = try form.body(of: .initialSync)
        let whole = try read([body], as: form)
        #expect(whole.count == 5)
        for size in [1, 2, 3, 5, 7, 64, 1_000] { #expect(try read(chunks(body, of: size), as: form) == whole) }
        for split in 0...body.readableBytes {
            #expect(try read([body.prefix(split), body.suffix(from: split)], as: form) == whole)
        }
    }

    /// Transcript N: characters that are split or that look like line breaks, and no final line feed.
    @Test
    func multiByteCharactersMayBeSplit() throws {
        let line =
            #"{"data":{"bucket":"b","data":[{"op_id":"1","op":"PUT","checksum":1,"data":"{\"t\":\"Brød – 麵包 🥖\#u{2028}\#u{85}\"}"}]}}"#
        for body in [ByteBuffer(string: line + "\r\n"), ByteBuffer(string: line)] {
            for split in 0...body.readableBytes {
                let lines = try read([body.prefix(split), body.suffix(from: split)], as: .json)
                guard case .data(let data) = lines.first?.line, let range = data.operations.first?.data else {
                    Issue.record("no data line")
                    return
                }
                #expect(data.string(range) == "{\"t\":\"Brød – 麵包 🥖\u{2028}\u{85}\"}")
                #expect(lines.map(\.byteCount) == [line.utf8.count])
            }
        }
    }

    @Test func theSizeOfALineIsCountedWithoutWhatSurroundsIt() throws {
        let json = try read([ByteBuffer(string: " {\"token_expires_in\":1} \r\n\n")], as: .json)
        #expect(json == [ReceivedLine(line: .keepalive(tokenExpiresIn: 1), byteCount: 22)])
        let bson = try read([LineForm.bson.encode(.keepalive(tokenExpiresIn: 1))], as: .bson)
        #expect(bson.map(\.byteCount) == [27])
    }

    @Test
    func jsonTextThatEndsEarly() throws {
        var reader = SyncLineReader(format: .ndjson)
        reader.append(ByteBuffer(string: "{\"token_expires_in\":1}\n{\"checkpoint_comp"))
        #expect(try reader.next()?.line == .keepalive(tokenExpiresIn: 1))
        #expect(try reader.next() == nil)
        #expect(throws: SyncLineError.json(JSONError(parsing: "{\"checkpoint_comp"))) { try reader.finish() }
    }

    @Test
    func bsonStreamThatEndsInsideADocumentDocumentsBeforeItHaveBeenRead() throws {
        var reader = SyncLineReader(format: .bson)
        let body = LineForm.bson.encode(.keepalive(tokenExpiresIn: 1))
        reader.append(body)
        reader.append(body.prefix(12))
        #expect(try reader.next()?.line == .keepalive(tokenExpiresIn: 1))
        #expect(try reader.next() == nil)
        #expect(throws: SyncLineError.framing(.truncatedDocument(received: 12))) { try reader.finish() }
    }

    @Test(arguments: LineForm.allCases)
    func truncationAtEveryByteGivesTheLinesBeforeAndThenAnErrorOrTheEnd(form: LineForm) throws {
        let body = try form.body(of: .interruptedLowPriority)
        let all = try read([body], as: form)
        for length in 0..<body.readableBytes {
            var reader = SyncLineReader(format: form.format)
            reader.append(body.prefix(length))
            var lines: [ReceivedLine] = []
            while let line = try reader.next() { lines.append(line) }
            #expect(lines == Array(all.prefix(lines.count)))
            let isAtBoundary = reader.bufferedByteCount == 0
            if isAtBoundary {
                #expect(try reader.finish() == nil)
            } else if let last = try? reader.finish() {
                // Only the line feed was missing.
                #expect(form == .json && last == all[lines.count])
            }
        }
    }

    @Test(arguments: LineForm.allCases)
    func linesAboveTheLimitAreAnError(form: LineForm) {
        var reader = SyncLineReader(format: form.format, maximumLineLength: 10)
        reader.append(form.encode(.keepalive(tokenExpiresIn: 1)))
        #expect(throws: SyncLineError.framing(.lineTooLong(limit: 10))) { try reader.next() }
    }

    /// Also when every chunk ends inside of a line, so that something is always left over.
    @Test func aLineKeepsTheMemoryOfItsOwnChunksOnly() throws {
        var data = DataLine(bucket: BucketName("b"))
        data.append(.put, opID: OpID(1), checksum: .zero, objectType: "t", objectID: "i", data: "{}")
        let document = LineForm.bson.encode(.data(data))
        var chunk = document.suffix(from: 10)
        chunk.writeImmutableBuffer(document.prefix(10))
        var reader = SyncLineReader(format: .bson)
        reader.append(document.prefix(10))
        for _ in 0..<1_000 {
            reader.append(chunk)
            guard case .data(let line) = try reader.next()?.line else {
                Issue.record("no data line")
                return
            }
            try #require(line.text.storageCapacity <= 4 * document.readableBytes)
        }
    }

    @Test func linesKeepTheirBytesWhenMoreIsAppended() throws {
        var reader = SyncLineReader(format: .bson)
        var data = DataLine(bucket: BucketName("b"))
        data.append(.put, opID: OpID(1), checksum: .zero, objectType: "t", objectID: "i", data: "{}")
        let body = LineForm.bson.encode(.data(data))
        reader.append(body)
        reader.append(body.prefix(20))
        let first = try reader.next()
        reader.append(body.suffix(from: 20))
        let second = try reader.next()
        #expect(first?.line == .data(data))
        #expect(second == first)
    }
}

extension JSONError {
    /// The error of parsing a text; `nil` is not expected.
    fileprivate init(parsing text: String) {
        do {
            _ = try ExactJSON(parsing: text)
            preconditionFailure("\(text) is valid")
        } catch {
            self = error
        }
    }
}
