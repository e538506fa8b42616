import PowerSyncProtocol

/// Something that `powersync doctor` has looked at (docs/operating.md "What doctor looks at").
package struct DoctorFinding: Sendable, Equatable, Encodable {
    /// How bad it is.
    package enum Level: String, Sendable, Encodable, CaseIterable {
        /// It is in order.
        case ok
        /// It works, and something should be done about it.
        case warning
        /// Something does not work, or the service does not start.
        case error
    }

    /// What was looked at.
    package enum Area: String, Sendable, Encodable {
        case configuration, syncConfig = "sync_config", keys, clock, certificate, storage, source, slots, ports, service
    }

    /// How bad it is.
    package var level: Level
    /// What was looked at.
    package var area: Area
    /// File, line and key, or the server, if that is not in the message.
    package var place: String?
    /// What was found: of what keeps a service from starting, the words with which it refuses to.
    package var message: String
    /// What to do; nothing for what is in order.
    package var remedy: String?
    /// The code of the error catalogue, if there is one.
    package var code: String?

    /// Creates a finding.
    package init(
        level: Level,
        area: Area,
        place: String? = nil,
        message: String,
        remedy: String? = nil,
        code: String? = nil
    ) {
        self.level = level
        self.area = area
        self.place = place
        self.message = message
        self.remedy = remedy
        self.code = code
    }
}

/// Collects findings.
struct DoctorFindings {
    /// In the order in which they were found.
    private(set) var all: [DoctorFinding] = []

    mutating func ok(_ area: DoctorFinding.Area, _ message: String, place: String? = nil) {
        all.append(DoctorFinding(level: .ok, area: area, place: place, message: message))
    }

    mutating func warn(_ area: DoctorFinding.Area, _ message: String, place: String? = nil, remedy: String) {
        all.append(DoctorFinding(level: .warning, area: area, place: place, message: message, remedy: remedy))
    }

    mutating func fail(
        _ area: DoctorFinding.Area,
        _ message: String,
        place: String? = nil,
        remedy: String,
        code: String? = nil
    ) {
        all.append(
            DoctorFinding(level: .error, area: area, place: place, message: message, remedy: remedy, code: code)
        )
    }

    mutating func add(_ finding: DoctorFinding) {
        all.append(finding)
    }

    /// Adds what keeps a service from starting, in the words with which it says so.
    mutating func fail(_ area: DoctorFinding.Area, _ error: any Error) {
        guard let error = error as? ServiceError else {
            return fail(area, "\(error)", remedy: ServiceError.remedyForOthers(in: area))
        }
        let position = error.file.map { file in error.line.map { "\(file):\($0)" } ?? file }
        let place = [position, error.key].compactMap { $0 }.joined(separator: ": ")
        var message = ([error.message] + error.diagnostics).joined(separator: "\n")
        if let cause = error.underlyingError { message += "\ncause: \(cause)" }
        fail(
            area,
            message,
            place: place.isEmpty ? nil : place,
            remedy: error.remedy(in: area),
            code: error.catalogueCode?.rawValue
        )
        for other in error.others { fail(area, other) }
    }
}
