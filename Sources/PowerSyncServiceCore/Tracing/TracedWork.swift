import Tracing

/// Something that the service does, as a span of swift-distributed-tracing (docs/service.md "Tracing").
///
/// Without a tracer in the process, nothing is recorded.
struct TracedWork: Sendable {
    private let span: any Span

    /// What is recorded.
    enum Kind: String {
        /// A stream, from its first line to its end.
        case stream = "sync stream"
        /// The first copy of a table.
        case copy = "copy table"
        /// A checkpoint of the source's changes.
        case checkpoint = "make checkpoint"
        /// A compaction of the whole storage.
        case compaction = "compact"
    }

    /// Begins a span.
    ///
    /// - Parameters:
    ///   - kind: What it is.
    ///   - context: Has the span that it is within; that of the task by default.
    init(_ kind: Kind, in context: ServiceContext = .current ?? .topLevel) {
        span = startSpan(kind.rawValue, context: context, ofKind: kind == .stream ? .server : .internal)
    }

    /// Adds to what the span says.
    func set(_ name: String, _ value: some SpanAttributeConvertible & Sendable) {
        guard span.isRecording else { return }
        span.attributes["powersync.\(name)"] = value
    }

    /// Ends the span.
    ///
    /// - Parameter error: Why the work failed, if it did.
    func end(_ error: (any Error)? = nil) {
        if let error {
            span.recordError(error)
            span.setStatus(.init(code: .error))
        }
        span.end()
    }

    /// Does work within a span, which ends with it.
    ///
    /// - Parameters:
    ///   - kind: What it is.
    ///   - body: The work.
    /// - Returns: What the work gives.
    /// - Throws: What the work throws.
    static func run<Result>(_ kind: Kind, _ body: (TracedWork) async throws -> Result) async rethrows -> Result {
        let work = TracedWork(kind)
        do {
            let result = try await body(work)
            work.end()
            return result
        } catch {
            work.end(error)
            throw error
        }
    }
}
