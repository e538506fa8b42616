import PowerSyncTerminal
import Testing

/// Times in sentences for people.
@Suite struct ReadableTimeTests {
    @Test(
        arguments: [
            (.zero, "0 ms"), (.microseconds(400), "0 ms"), (.milliseconds(340), "340 ms"),
            (.microseconds(999_900), "999 ms"), (.seconds(1), "1.0 s"), (.milliseconds(2_649), "2.6 s"),
            (.milliseconds(2_650), "2.7 s"), (.milliseconds(59_960), "60.0 s"), (.seconds(3_600), "3600.0 s"),
        ] as [(Duration, String)]
    )
    func aTimeHasOneUnit(time: Duration, text: String) {
        #expect(time.readable == text)
    }
}
