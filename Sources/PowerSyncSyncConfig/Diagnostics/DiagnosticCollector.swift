/// Collects findings and gives them their place in the file.
struct DiagnosticCollector {
    /// The most findings that are kept: more are of no use to a reader, and finding their places takes time.
    static let maximumFindings = 200

    /// The file.
    let source: SourceText
    private var diagnostics: [ConfigDiagnostic] = []
    private var seen: Set<ConfigDiagnostic> = []
    /// Whether the config cannot be used.
    private(set) var hasErrors = false

    /// Creates an empty collection for a file.
    init(source: SourceText) {
        self.source = source
    }

    /// Adds a finding; one that is there already is ignored, and so is what exceeds ``maximumFindings``.
    ///
    /// An error takes the place of the last warning then: the errors have to be seen to mend a config that is refused.
    mutating func report(
        _ code: DiagnosticCode,
        _ message: String,
        hint: String? = nil,
        at range: Range<Int>,
        severity: ConfigDiagnostic.Severity? = nil
    ) {
        let severity = severity ?? code.severity
        if severity == .error { hasErrors = true }
        let isFull = diagnostics.count == Self.maximumFindings
        let lastWarning =
            isFull && severity == .error ? diagnostics.lastIndex { $0.severity == .warning } : nil
        guard !isFull || lastWarning != nil else { return }
        let position = source.position(of: range.lowerBound)
        let diagnostic = ConfigDiagnostic(
            severity: severity,
            code: code.rawValue,
            message: message,
            hint: hint,
            range: range,
            line: position.line,
            column: position.column,
            excerpt: source.excerpt(of: range)
        )
        guard seen.insert(diagnostic).inserted else { return }
        if let lastWarning { diagnostics.remove(at: lastWarning) }
        diagnostics.append(diagnostic)
    }

    /// All findings in the order of the file.
    var sorted: [ConfigDiagnostic] {
        diagnostics.enumerated()
            .sorted { ($0.element.range.lowerBound, $0.offset) < ($1.element.range.lowerBound, $1.offset) }
            .map(\.element)
    }
}
