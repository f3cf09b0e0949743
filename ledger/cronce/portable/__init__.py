"""What is packed from the installed packages, as files, for machines that lack them.

`lambda_archive` packs the code of the Lambda functions. `build` packs the portable folder: the runtime commands with
their own Python and C library, for images that have neither.

`python -m cronce.portable DIR` builds it on any Linux with glibc. The folder needs nothing but the kernel:

    cronce          static; starts the rest (launcher.c)
    ld.so           the loader and the libraries of the Python that built the folder
    bin/python3
    lib/            libraries, byte code of the standard library as far as it is used, byte code of cronce
"""
