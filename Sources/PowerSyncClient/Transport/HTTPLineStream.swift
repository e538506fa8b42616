import NIOCore
import PowerSyncHTTP
import PowerSyncProtocol

/// The lines of an HTTP response, read by one task.
///
/// The exchange reads ahead a little; everything else waits in the kernel's and the service's buffers until ``next()``
/// asks for it. A connection that is closed between two lines ends the stream, whether the service said good-bye or
/// not (docs/protocol.md "End of a stream").
final class HTTPLineStream: SyncLineStream {
    private var state: SyncLineSource<(reader: SyncLineReader, body: any HTTPExchangeBody)>
    private var lineLog: LineLog
    private let url: String
    private let log: SyncRequestLog
    let via: String?

    /// Creates a stream on the body of a response.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - format: How the body is split into lines.
    ///   - url: Where the body comes from, for messages.
    ///   - via: The proxy that has passed it on.
    ///   - log: Where lines are logged.
    init(
        body: any HTTPExchangeBody,
        format: SyncLineFormat,
        url: String,
        via: String?,
        log: SyncRequestLog
    ) {
        state = .reading((SyncLineReader(format: format), body))
        lineLog = LineLog(format: format, log: log)
        self.url = url
        self.via = via
        self.log = log
    }

    nonisolated(nonsending) func next() async throws -> SyncStreamElement? {
        switch state {
        case .ended:
            return nil
        case .failed(let error):
            state = .ended
            throw error
        case .reading((var reader, let body)):
            // Moved out while it changes, so that the reader's buffer is not copied.
            state = .ended
            guard let chunk = try await nextChunk(of: body) else {
                return try finish(&reader)
            }
            lineLog.received(chunk)
            reader.append(chunk)
            let (lines, error) = completeLines(of: &reader)
            guard let error else {
                state = .reading((reader, body))
                return .lines(lines)
            }
            guard !lines.isEmpty else { throw error }
            state = .failed(error)
            return .lines(lines)
        }
    }

    private nonisolated(nonsending) func nextChunk(
        of body: any HTTPExchangeBody
    ) async throws -> ByteBuffer? {
        do {
            return try await body.next()
        } catch let error as HTTPExchangeError where error.code == .closedEarly {
            return nil
        } catch {
            try Task.checkCancellation()
            log.failed(error)
            throw SyncTransportError(.connection, message: "The connection to \(url) broke", underlyingError: error)
        }
    }

    private func finish(_ reader: inout SyncLineReader) throws -> SyncStreamElement? {
        // A cancelled request ends like a finished one.
        try Task.checkCancellation()
        let last: ReceivedLine?
        do {
            last = try reader.finish()
        } catch {
            // What is left over is no whole line, whatever it begins with: the service was ended, or the network was.
            log.failed(error)
            throw SyncTransportError(
                .connection,
                message: "The connection to \(url) was cut inside a sync line",
                underlyingError: error
            )
        }
        lineLog.ended()
        log.responseEnded()
        return last.map { .lines([$0]) }
    }

    private func completeLines(of reader: inout SyncLineReader) -> ([ReceivedLine], (any Error)?) {
        var lines: [ReceivedLine] = []
        do {
            while let line = try reader.next() {
                lineLog.decoded(line.line)
                lines.append(line)
            }
            return (lines, nil)
        } catch {
            return (lines, malformed(error))
        }
    }

    private func malformed(_ error: any Error) -> SyncTransportError {
        log.failed(error)
        return SyncTransportError(
            .unexpectedResponse,
            message: "What \(url) sends holds a malformed line",
            underlyingError: error
        )
    }
}

/// Logs lines if the log wants them: JSON as it arrived, BSON as JSON.
private struct LineLog {
    private let log: SyncRequestLog
    private let format: SyncLineFormat
    /// The beginning of a line whose end has not arrived.
    private var partialLine = ByteBuffer()
    /// How many bytes of it are known to have no line feed among them.
    private var searchedCount = 0

    init(format: SyncLineFormat, log: SyncRequestLog) {
        self.format = format
        self.log = log
    }

    mutating func received(_ chunk: ByteBuffer) {
        guard log.logsBodies, format == .ndjson else { return }
        partialLine.writeImmutableBuffer(chunk)
        while let end = partialLine.readableBytesView.dropFirst(searchedCount).firstIndex(of: UInt8(ascii: "\n")) {
            let line = partialLine.readSlice(length: end - partialLine.readerIndex) ?? ByteBuffer()
            partialLine.moveReaderIndex(forwardBy: 1)
            searchedCount = 0
            logJSON(line)
        }
        searchedCount = partialLine.readableBytes
        partialLine.discardReadBytes()
    }

    func decoded(_ line: SyncLine) {
        guard log.logsBodies, format == .bson else { return }
        var text = ByteBuffer()
        line.encode(as: .ndjson, into: &text)
        logJSON(text)
    }

    mutating func ended() {
        guard log.logsBodies else { return }
        logJSON(partialLine)
        partialLine.clear()
    }

    private func logJSON(_ line: ByteBuffer) {
        let text = String(buffer: line).trimmingWhitespace
        if !text.isEmpty { log.responseLine(text) }
    }
}

extension String {
    fileprivate var trimmingWhitespace: String {
        var text = self[...]
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }
}
