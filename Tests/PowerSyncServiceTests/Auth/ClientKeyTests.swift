import PowerSyncService
import Testing

@Suite struct ClientKeyTests {
    @Test func aKeyThatIsNoObjectIsAnErrorOfTheConfiguration() {
        #expect(throws: ServiceError.self) { try ClientKey.jwk(json: "[]") }
    }
}
