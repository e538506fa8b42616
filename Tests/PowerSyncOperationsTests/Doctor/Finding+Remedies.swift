import PowerSyncServiceCore
import Testing

extension [Finding] {
    /// Checks that everything that is not in order comes with what to do.
    func expectRemedies(sourceLocation: SourceLocation = #_sourceLocation) {
        for finding in self where finding.severity != .ok {
            #expect(finding.remedy?.isEmpty == false, "\(finding)", sourceLocation: sourceLocation)
        }
    }
}
