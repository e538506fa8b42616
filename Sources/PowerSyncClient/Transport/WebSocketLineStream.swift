import NIOCore
import PowerSyncProtocol
import RSocket

/// The lines of a response over WebSocket, read by one task: one BSON document in each payload.
///
/// On an idle stream the service sends no lines, but answers the keepalives of the connection. Such an answer proves that
/// both are alive: what is sent through a WebSocket arrives in order, and nothing on the way can hold lines back and let
/// answers pass. A connection that closes between two lines ends the stream, whether the service said good-bye or not
/// (docs/protocol.md "End of a stream").
final class WebSocketLineStream: SyncLineStream {
    private var state: SyncLineSource<RequesterStream>
    /// What came while the stream was opened.
    private var first: SyncStreamElement?
    private let url: String
    private let log: SyncRequestLog

    /// Creates a stream of lines.
    ///
    /// - Parameters:
    ///   - stream: The stream of payloads.
    ///   - url: Where they come from, for messages.
    ///   - log: Where lines are logged.
    init(_ stream: RequesterStream, url: String, log: SyncRequestLog) {
        state = .reading(stream)
        self.url = url
        self.log = log
    }

    /// Waits until the service has accepted the request.
    ///
    /// It says so with the first line, of which a part is enough if it takes long. If it has no checkpoint yet, there is no
    /// line for as long as that takes; then the answer to the first keepalive, 20 seconds later, tells that the request was
    /// not refused.
    ///
    /// - Throws: ``SyncTransportError``, or `CancellationError`.
    nonisolated(nonsending) func waitForAcceptance() async throws {
        guard let element = try await next() else {
            // Nothing comes for a task that was cancelled either.
            try Task.checkCancellation()
            throw SyncTransportError(.connection, message: "\(url) closed the connection before the first line")
        }
        first = element
    }

    nonisolated(nonsending) func next() async throws -> SyncStreamElement? {
        if let first {
            self.first = nil
            return first
        }
        switch state {
        case .ended:
            return nil
        case .failed(let error):
            state = .ended
            throw error
        case .reading(let stream):
            switch try await nextElement(of: stream) {
            case nil:
                state = .ended
                log.responseEnded()
                return nil
            case .payloads(let payloads):
                return .lines(try decode(payloads))
            case .keepaliveAnswered:
                return .keepaliveAnswered
            }
        }
    }

    private nonisolated(nonsending) func nextElement(
        of stream: RequesterStream
    ) async throws -> RequesterStream.Element? {
        do {
            return try await stream.next()
        } catch let error as RequesterStreamError {
            state = .ended
            let error = SyncTransportError(error, url: url)
            log.failed(error)
            throw error
        }
    }

    private func decode(_ payloads: [ByteBuffer]) throws -> [ReceivedLine] {
        var lines: [ReceivedLine] = []
        do {
            for payload in payloads {
                let line = try SyncLine(bson: payload)
                if log.logsBodies {
                    var text = ByteBuffer()
                    line.encode(as: .ndjson, into: &text)
                    log.responseLine(String(buffer: text.getSlice(at: 0, length: text.readableBytes - 1) ?? text))
                }
                lines.append(ReceivedLine(line: line, byteCount: payload.readableBytes))
            }
            return lines
        } catch {
            log.failed(error)
            let error = SyncTransportError(
                .unexpectedResponse,
                message: "What \(url) sends holds a malformed line",
                underlyingError: error
            )
            // The connection closes with the stream.
            state = lines.isEmpty ? .ended : .failed(error)
            if lines.isEmpty { throw error }
            return lines
        }
    }
}

extension SyncTransportError {
    /// Why a stream over WebSocket did not end normally.
    init(_ error: RequesterStreamError, url: String) {
        switch error {
        case .failed(let frame):
            self.init(
                .status,
                message: "The request to \(url) failed: \(frame.message)",
                serviceCode: ErrorCode(inErrorMessage: frame.message)
            )
        case .connection(.endedByPeer(let code, let message)):
            let isSetup = [.invalidSetup, .unsupportedSetup, .rejectedSetup, .rejectedResume].contains(code)
            self.init(
                isSetup ? .setupRejected : .status,
                message: "\(url) ended the connection: \(message)",
                serviceCode: ErrorCode(inErrorMessage: message)
            )
        case .connection(.peerSilent):
            self.init(
                .idle,
                message: "Nothing was received from \(url) for too long; the connection seems to be broken"
            )
        case .connection(let error):
            self.init(
                .unexpectedResponse,
                message: "The connection to \(url) was given up",
                underlyingError: error
            )
        case .channel(let error):
            self.init(.connection, message: "The connection to \(url) broke", underlyingError: error)
        }
    }
}

extension ErrorCode {
    /// The code in the message of an ERROR frame: `[PSYNC_S2101] …`, anywhere in the text.
    init?(inErrorMessage message: String) {
        guard let start = message.firstRange(of: "PSYNC_") else { return nil }
        let code = message[start.lowerBound...].prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        self.init(rawValue: String(code))
    }
}
