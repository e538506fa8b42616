#if !Generate && !Service
#error("This needs the package trait \"Generate\": docs/packages.md")
#endif
