import Testing

@testable import PowerSyncService

extension [DoctorFinding] {
    /// Checks that everything that is not in order comes with what to do.
    func expectRemedies(sourceLocation: SourceLocation = #_sourceLocation) {
        for finding in self where finding.level != .ok {
            #expect(finding.remedy?.isEmpty == false, "\(finding)", sourceLocation: sourceLocation)
        }
    }
}
